package lifecycle_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestImportSetsTheIdentityOnly(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{})
	resp, err := s.ImportResourceState(t.Context(),
		&tfprotov6.ImportResourceStateRequest{TypeName: "kt_thing", ID: "web/y"})
	if err != nil || len(resp.Diagnostics) > 0 || len(resp.ImportedResources) != 1 ||
		s.text(resp.ImportedResources[0].State, "id") != "web/y" {
		t.Fatalf("%v, %v", resp, err)
	}
	resp, err = s.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: "kt_thing", ID: "y"})
	if err != nil || errorSummary(t, resp.Diagnostics) != "Invalid import ID" ||
		!strings.Contains(resp.Diagnostics[0].Detail, "such as ml/x.") {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestDataOfAnotherProviderIsAnError(t *testing.T) {
	t.Parallel()
	var ofResource, ofList resource.ConfigureResponse
	(&thingResource{}).Configure(t.Context(), resource.ConfigureRequest{ProviderData: "x"}, &ofResource)
	(&lister{Resource: &thingResource{}}).Configure(t.Context(), resource.ConfigureRequest{ProviderData: "x"}, &ofList)
	if !ofResource.Diagnostics.HasError() || !ofList.Diagnostics.HasError() {
		t.Errorf("%v, %v", ofResource.Diagnostics, ofList.Diagnostics)
	}
}

func TestChangedModelIsReturned(t *testing.T) {
	t.Parallel()
	for _, uid := range []string{"", "changed"} {
		s := inCluster(t, "a", &hooks{refresh: func(r *reading) error {
			if uid != "" {
				r.State.UID = types.StringValue(uid)
			}
			r.Diags.AddWarning("Noted", "")
			return nil
		}})
		resp := s.read(inState(nil), nil)
		if changed := s.text(resp.NewState, "uid") == "changed"; changed != (uid != "") || len(resp.Diagnostics) != 1 {
			t.Errorf("%q: changed %t, %v", uid, changed, resp.Diagnostics)
		}
	}
}

func TestFailedImportIsAnError(t *testing.T) {
	t.Parallel()
	s := inCluster(t, "a", &hooks{imported: func(*reading) error { return errors.New("no connection") }})
	resp := s.read(map[string]any{"name": "x", "namespace": "ml", "id": "ml/x"}, nil)
	if errorSummary(t, resp.Diagnostics) == "" || s.isNull(resp.NewState) {
		t.Errorf("%v", resp.Diagnostics)
	}
}

// Otherwise, every refresh would report the restored object again.
func TestRestoredObjectIsRemembered(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{false, true} {
		api := kubetest.NewServer(t)
		live := api.Apply(t, kube.Manager, kube.MarkCreation(kind.Service().Named("ml", "x"), "some"))
		live.SetUID("restored")
		api.Put("/api/v1/namespaces/ml/services/x", live)
		other := kind.Service().Named("ml", "y")
		other.SetLabels(map[string]string{"a": "b"})
		api.Apply(t, kube.Manager, other)
		s := configured(t, dataAt(t, api.URL), &hooks{refresh: func(r *reading) error {
			names := []string{"x", "y"}
			if !first {
				names = []string{"y", "x"}
			}
			r.Memory["Service/ml/y"] = owned.Entry{Recovered: true}
			for _, name := range names {
				obj := kind.Service().Named("ml", name)
				if _, _, err := r.FindObject(t.Context(), obj); err != nil {
					t.Error(err)
				}
			}
			return nil
		}})
		resp := s.read(inState(nil), map[string]string{"applied": `{"Service/ml/x":{"uid":"old","creation":"some"}}`})
		if got := privateValue(t, resp.Private, "applied"); !strings.Contains(got, `"uid":"restored"`) {
			t.Errorf("first %t: memory %s, %v", first, got, resp.Diagnostics)
		}
	}
}

// Otherwise, each apply would dry-run what it applies at once, and its requests would outlive it.
func TestAppliesSendNoPreviewsAndEndTheirContext(t *testing.T) {
	t.Parallel()
	for name, apply := range map[string]func(*server){
		"a creation": func(s *server) { s.create(nil) },
		"an update":  func(s *server) { s.update(nil, nil) },
		"a deletion": func(s *server) { s.remove(inState(nil), nil) },
	} {
		var ended func() error
		check := func(ctx context.Context, data *tf.ProviderData) {
			ended = ctx.Err
			data.Run.Preview(func() { t.Errorf("%s: a preview is sent", name) })
		}
		apply(inCluster(t, "a", &hooks{
			apply: func(ctx context.Context, w *writing) {
				check(ctx, w.Data)
				if w.Config.Size.ValueString() != "1" {
					t.Errorf("%s: config %+v", name, w.Config)
				}
				complete(w)
				w.Save(ctx)
			},
			remove: func(ctx context.Context, d *deleting) { check(ctx, d.Data) },
		}))
		if !errors.Is(ended(), context.Canceled) {
			t.Errorf("%s: the context has not ended: %v", name, ended())
		}
	}
}
