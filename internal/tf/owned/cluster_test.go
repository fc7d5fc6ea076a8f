package owned

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// private is the private state of one resource.
type private map[string][]byte

func (p private) GetKey(_ context.Context, key string) ([]byte, diag.Diagnostics) { return p[key], nil }

func (p private) SetKey(_ context.Context, key string, value []byte) diag.Diagnostics {
	p[key] = value
	return nil
}

// failing is private state that cannot be read or written.
type failing struct{ data string }

func (f failing) GetKey(context.Context, string) ([]byte, diag.Diagnostics) {
	return []byte(f.data), diag.Diagnostics{diag.NewErrorDiagnostic("Not read", "")}
}

func (failing) SetKey(context.Context, string, []byte) diag.Diagnostics {
	return diag.Diagnostics{diag.NewErrorDiagnostic("Not written", "")}
}

// inCluster returns a provider that is configured for the cluster with a UID; "" if the UID cannot be read.
func inCluster(t *testing.T, uid string) *tf.ProviderData {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if uid == "" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"uid":%q,`+
			`"name":"kube-system"}}`, uid)
	}))
	t.Cleanup(server.Close)
	cluster := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"})
	return &tf.ProviderData{Run: run.New(t.Context(), cluster, nil)}
}

// Without permission to read kube-system, the namespace of the resource shows whether this is the same cluster.
func TestMissingObjectIsDoubtfulUnlessItsNamespaceIsTheSame(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if request.URL.Path != "/api/v1/namespaces/ml" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"uid":"ns-1",`+
			`"name":"ml"}}`)
	}))
	defer server.Close()
	cluster := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"})
	data := &tf.ProviderData{Run: run.New(t.Context(), cluster, nil)}
	for name, c := range map[string]struct {
		known, id           string
		doubtful, confirmed bool
	}{
		"the same namespace":       {`"namespace":"ns-1",`, "ml/data", false, true},
		"another namespace":        {`"namespace":"ns-2",`, "ml/data", true, false},
		"unknown at the creation":  {"", "ml/data", true, false},
		"unreadable":               {`"namespace":"ns-1",`, "other/data", true, false},
		"a resource without one":   {"", "data", true, false},
		"kube-system was readable": {`"uid":"a",`, "ml/data", true, false},
	} {
		state := private{clusterKey: []byte(`{` + c.known + `"server":"https://before:6443"}`)}
		recorded, diags := ClusterOf(t.Context(), data, state, "kt_volume", types.StringValue(c.id))
		if diags.HasError() || recorded.Doubtful().HasError() != c.doubtful || recorded.Confirmed() != c.confirmed {
			t.Errorf("%s: doubtful %v, confirmed %t: %v", name, recorded.Doubtful(), recorded.Confirmed(), diags)
		}
	}
}

func TestResourceIsRejectedOnlyInAnotherCluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known, configured   string
		rejected, confirmed bool
		doubtful            bool
		saved               string // in private state after Record
	}{
		"the same cluster":              {known: "a", configured: "a", confirmed: true, saved: "a"},
		"another cluster":               {known: "a", configured: "b", rejected: true, saved: "a"},
		"state of an earlier version":   {configured: "b", saved: "b"},
		"no permission to read the UID": {known: "a", doubtful: true, saved: "a"},
		"both are unknown":              {saved: "http://127.0.0.1"},
		"only the address is known":     {known: "-", doubtful: true, saved: "http://127.0.0.1"},
		"the UID is known now":          {known: "-", configured: "b", doubtful: true, saved: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := private{}
			switch c.known {
			case "":
			case "-":
				state[clusterKey] = []byte(`{"server":"https://before:6443"}`)
			default:
				state[clusterKey] = fmt.Appendf(nil, `{"uid":%q,"server":"https://before:6443"}`, c.known)
			}
			recorded, diags := ClusterOf(t.Context(), inCluster(t, c.configured), state, "kt_volume",
				types.StringValue("ml/data"))
			if diags.HasError() != c.rejected || recorded.Confirmed() != c.confirmed {
				t.Errorf("rejected %t, confirmed %t: %v", diags.HasError(), recorded.Confirmed(), diags)
			}
			for _, d := range diags {
				for _, want := range []string{"kt_volume ml/data", "https://before:6443", "http://127.0.0.1",
					"terraform state rm"} {
					if !strings.Contains(d.Detail(), want) {
						t.Errorf("%q is not in\n%s", want, d.Detail())
					}
				}
			}
			if got := recorded.Doubtful(); got.HasError() != c.doubtful {
				t.Errorf("doubtful: %v", got)
			}
			if diags := recorded.Record(t.Context(), state); diags.HasError() {
				t.Error(diags)
			}
			if got := string(state[clusterKey]); !strings.Contains(got, `"`+c.saved) {
				t.Errorf("saved cluster %s, want %q", got, c.saved)
			}
		})
	}
	if _, diags := ClusterOf(t.Context(), &tf.ProviderData{Unknown: true}, private{}, "kt_volume",
		types.StringValue("ml/data")); diags.HasError() {
		t.Error("a cluster that is created in this run is rejected")
	}
}

// A deletion in the same run waits for the outcome of the creation.
func TestCreatedResourceIsRecordedWithItsCluster(t *testing.T) {
	t.Parallel()
	r, one, state := newRun(t), creation(), private{}
	ref := refOf(t, configMap("a"))
	if _, err := one.LookUp(t.Context(), r.Run, ref); err != nil {
		t.Fatal(err)
	}
	one.Created(ref, nil)
	if diags := RecordCreated(t.Context(), r.data(), one, state); len(diags) > 0 {
		t.Fatal(diags)
	}
	if !r.Claimed(ref) || !strings.Contains(string(state[clusterKey]), kubetest.ClusterUID) {
		t.Errorf("claimed %t, private state %s", r.Claimed(ref), state[clusterKey])
	}
	if diags := RecordCreated(t.Context(), r.data(), one, failing{}); !diags.HasError() {
		t.Error("the error is lost")
	}
}
