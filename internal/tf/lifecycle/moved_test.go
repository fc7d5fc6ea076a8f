package lifecycle_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

const movedService = `{"from":"kubernetes_service","kind":"Service","namespace":"ml","name":"x","uid":"u"}`

// movable makes kt_thing a target of moves from Deployments.
func movable(r *thingResource) {
	r.Kind.Moves = func(of schema.GroupKind) bool { return of.Kind == "Deployment" }
}

// move moves a resource of the Kubernetes provider.
func (s *server) move(resourceType, state string) *tfprotov6.MoveResourceStateResponse {
	s.t.Helper()
	resp, err := s.MoveResourceState(s.t.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: "registry.terraform.io/hashicorp/kubernetes", SourceTypeName: resourceType,
		SourceState: &tfprotov6.RawState{JSON: []byte(state)}, TargetTypeName: "kt_thing",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// identityOf returns namespace/name of an identity.
func identityOf(t *testing.T, data *tfprotov6.ResourceIdentityData) string {
	t.Helper()
	decoded, err := data.IdentityData.Unmarshal(owned.IdentitySchema("thing").Type().TerraformType(t.Context()))
	var values map[string]tftypes.Value
	var namespace, name string
	if err = errors.Join(err, decoded.As(&values)); err == nil {
		err = errors.Join(values["namespace"].As(&namespace), values["name"].As(&name))
	}
	if err != nil {
		t.Fatal(err)
	}
	return namespace + "/" + name
}

func TestMoveKeepsTheIdentityOfTheObject(t *testing.T) {
	t.Parallel()
	const state = `{"metadata":[{"name":"web","namespace":"shop","uid":"1"}]}`
	s := inCluster(t, "a", &hooks{configure: movable})
	resp := s.move("kubernetes_deployment", state)
	if len(resp.Diagnostics) > 0 || s.text(resp.TargetState, "id") != "shop/web" || resp.TargetIdentity == nil ||
		s.text(resp.TargetState, "name") != "web" || s.text(resp.TargetState, "namespace") != "shop" {
		t.Fatalf("%v, %v", resp.Diagnostics, resp.TargetState)
	}
	if got := identityOf(t, resp.TargetIdentity); got != "shop/web" {
		t.Errorf("identity %s", got)
	}
	const want = `{"from":"kubernetes_deployment","group":"apps","kind":"Deployment","namespace":"shop","name":"web",` +
		`"uid":"1"}`
	if got := privateValue(t, resp.TargetPrivate, "moved"); got != want {
		t.Errorf("private state %s, want %s", got, want)
	}
	for name, c := range map[string]struct {
		configure func(*thingResource)
		of, state string
		detail    string
	}{
		"a resource type without moves": {nil, "kubernetes_deployment", state, "No other resource type can become"},
		"another kind":                  {movable, "kubernetes_secret", state, "manages a Secret (web)"},
		"another resource type":         {movable, "kubernetes_service", state, "cannot become a kt_thing"},
		"no namespace": {movable, "kubernetes_deployment", `{"metadata":[{"name":"web"}]}`,
			"contains no namespace"},
		"no state": {movable, "kubernetes_deployment", "", "does not contain the identity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inCluster(t, "a", &hooks{configure: c.configure})
			resp := s.move(c.of, c.state)
			if errorSummary(t, resp.Diagnostics) != "Unsupported move" ||
				!strings.Contains(resp.Diagnostics[0].Detail, c.detail) || resp.TargetState != nil {
				t.Errorf("%v, want %q", resp.Diagnostics, c.detail)
			}
		})
	}
}

// The plan of a moved resource must not delete what the other provider has created.
func TestMovedObjectIsNeitherReplacedNorDeletedByAMove(t *testing.T) {
	t.Parallel()
	const notRefreshed, notReplaced = "A moved resource has to be refreshed", "A moved thing cannot be replaced"
	moved, config := map[string]string{"moved": movedService}, map[string]any{"name": "x", "size": "1"}
	bare := inState(map[string]any{"manifests": nil})
	replace := func(p *planning) {
		if p.Moved == nil {
			t.Error("the hook does not know that the resource was moved")
		}
		p.Replace.Append(path.Root("size"))
		p.Replace.Append(path.Root("name"))
		p.Replace.Append(path.Root("size"))
	}
	for name, c := range map[string]struct {
		plan    func(*planning)
		request func(*server) *tfprotov6.PlanResourceChangeResponse
		want    string
		detail  string
		called  []string
	}{
		"an update": {nil, func(s *server) *tfprotov6.PlanResourceChangeResponse {
			return s.planned(inState(nil), config, moved)
		}, "", "", []string{"plan"}},
		"an update that was not refreshed": {nil, func(s *server) *tfprotov6.PlanResourceChangeResponse {
			return s.planned(bare, config, moved)
		}, notRefreshed, "Service ml/x is moved from a kubernetes_service", nil},
		"an update without a move": {nil, func(s *server) *tfprotov6.PlanResourceChangeResponse {
			return s.planned(bare, config, nil)
		}, "", "", []string{"plan"}},
		"a replacement": {replace, func(s *server) *tfprotov6.PlanResourceChangeResponse {
			return s.planned(inState(nil), config, moved)
		}, notReplaced, "because of: name, size.", []string{"plan"}},
		"a replacement for one reason": {func(p *planning) { p.Replace.Append(path.Root("size")) },
			func(s *server) *tfprotov6.PlanResourceChangeResponse {
				return s.planned(inState(nil), config, moved)
			}, notReplaced, "because of: size.", []string{"plan"}},
		"a tainted resource": {nil, func(s *server) *tfprotov6.PlanResourceChangeResponse {
			return s.planned(nil, config, moved)
		}, notReplaced, "terraform untaint", []string{"plan"}},
		"a destruction": {nil, func(s *server) *tfprotov6.PlanResourceChangeResponse {
			return s.destruction(inState(nil), moved)
		}, "", "", nil},
		"a destruction that was not refreshed": {nil, func(s *server) *tfprotov6.PlanResourceChangeResponse {
			return s.destruction(bare, moved)
		}, notRefreshed, "Plan without -refresh=false", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hooks{plan: c.plan}
			resp := c.request(inCluster(t, "a", h))
			if got := errorSummary(t, resp.Diagnostics); got != c.want || !slices.Equal(h.called, c.called) {
				t.Errorf("called %v, got %q, want %q", h.called, got, c.want)
			}
			if c.want != "" && !strings.Contains(resp.Diagnostics[0].Detail, c.detail) {
				t.Errorf("%s, want %q", resp.Diagnostics[0].Detail, c.detail)
			}
		})
	}
}

func TestImportOfAMovedResourceFindsTheSameObject(t *testing.T) {
	t.Parallel()
	bare := map[string]any{"name": "x", "namespace": "ml", "id": "ml/x"}
	found := func(uid string) func(*reading) error {
		return func(r *reading) error {
			r.State.UID, r.State.Manifests = types.StringValue(uid), types.MapValueMust(types.StringType, nil)
			return nil
		}
	}
	missing := func(r *reading) error { return r.NothingToImport("the Service does not exist.") }
	denied := func(*reading) error {
		return &kube.Error{Op: "read", Ref: kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"},
			Class: kube.Denied, Err: errors.New("services is forbidden")}
	}
	const noUID = `{"from":"kubectl_manifest","kind":"Service","namespace":"ml","name":"x"}`
	for name, c := range map[string]struct {
		imported func(*reading) error
		moved    string
		want     string
		detail   string
	}{
		"the same object":               {found("u"), movedService, "", ""},
		"another object":                {found("v"), movedService, "The moved object is another one", "has the UID v"},
		"a source without a UID":        {found("v"), noUID, "", ""},
		"an import":                     {found("v"), "", "", ""},
		"an object without a UID":       {found(""), movedService, "", ""},
		"a missing object of a move":    {missing, movedService, "The moved object does not exist", "but the Service"},
		"a missing object of an import": {missing, "", "Nothing to import", "the Service does not exist."},
		"an import without permission":  {denied, "", "No permission to read Service ml/x", "services is forbidden"},
		"a move without permission":     {denied, movedService, "No permission to read Service ml/x", "is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inCluster(t, "a", &hooks{imported: c.imported})
			values := map[string]string{}
			if c.moved != "" {
				values["moved"] = c.moved
			}
			resp := s.read(bare, values)
			if got := errorSummary(t, resp.Diagnostics); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			if gone := strings.HasPrefix(name, "a missing"); s.isNull(resp.NewState) != gone {
				t.Errorf("removed from the state: %t", !gone)
			}
			if c.want != "" && !strings.Contains(resp.Diagnostics[0].Detail, c.detail) {
				t.Errorf("%s, want %q", resp.Diagnostics[0].Detail, c.detail)
			}
		})
	}
	failed := inCluster(t, "a", &hooks{imported: func(*reading) error { return owned.ErrDeleted }})
	if resp := failed.read(bare, nil); !failed.isNull(resp.NewState) {
		t.Errorf("%v", resp)
	}
}
