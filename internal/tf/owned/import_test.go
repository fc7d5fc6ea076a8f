package owned

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestImportContainsOnlyTheFieldsOfThisProvider(t *testing.T) {
	t.Parallel()
	for manager, ours := range map[string]bool{kube.Manager: true, somebody: false} {
		r, memory, objects := newRun(t), Memory{}, Objects{}
		live := r.Server.Apply(t, manager, configMap("a", "k", "v"))
		r.Edit(t, mapPath+"a", "kubectl-edit", setData("theirs", "v"))
		obj, got, err := objects.Import(memory, r.Object(mapPath+"a"))
		if err != nil || got != ours {
			t.Fatal(got, err)
		}
		data, _, _ := unstructured.NestedMap(obj.Object, "data")
		if (data["k"] == "v") != ours || data["theirs"] != nil || obj.GetName() != "a" ||
			objects[mapKey] == nil || strings.Contains(objects[mapKey].Text, `"k"`) != ours {
			t.Errorf("%s: imported %v, %+v", manager, obj, objects[mapKey])
		}
		if entry := memory[mapKey]; entry.UID != live.GetUID() || memory.NeverApplied(mapKey) == ours {
			t.Errorf("%s: entry %+v", manager, entry)
		}
	}
	broken := live(kube.Manager)
	broken.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: kube.Manager, Operation: "Apply",
		FieldsV1: metav1.NewFieldsV1(unreadable)}})
	objects := Objects{}
	if _, _, err := objects.Import(Memory{}, broken); err == nil || len(objects) > 0 {
		t.Errorf("%v, %v", objects, err)
	}
}

func TestAdoptedFieldsAreThoseOfTheConfigurationThatClientsHaveSet(t *testing.T) {
	t.Parallel()
	r, memory, objects := newRun(t), Memory{}, Objects{}
	live := r.Server.Apply(t, somebody, configMap("a", "k", "live", "theirs", "v"))
	ok, err := objects.Adopt(t.Context(), r.Cluster, memory, live, configMap("a", "k", "ours", "new", "v"))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	data, _, _ := unstructured.NestedStringMap(objects[mapKey].Content.Object, "data")
	if len(data) != 1 || data["k"] != "live" {
		t.Errorf("adopted %v", data)
	}
	entry := memory[mapKey]
	if !entry.Adopted || entry.UID != live.GetUID() || !memory.NeverApplied(mapKey) || memory.Applied(mapKey) {
		t.Errorf("entry %+v", entry)
	}
	if _, set := entry.Admitted["data.new"]; set || r.dataOf(t)["k"] != "live" {
		t.Errorf("entry %+v, data %v", entry, r.dataOf(t))
	}
}

func TestObjectThatCannotBeAdoptedIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	live := r.Server.Apply(t, somebody, configMap("a", "k", "v"))
	unknown := live.DeepCopy()
	unknown.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: somebody, Operation: "Update",
		FieldsV1: metav1.NewFieldsV1(unreadable)}})
	adopt := func(live *unstructured.Unstructured) error {
		memory, objects := Memory{}, Objects{}
		ok, err := objects.Adopt(t.Context(), r.Cluster, memory, live, configMap("a", "k", "v"))
		if ok || len(memory) > 0 || len(objects) > 0 {
			t.Errorf("adopted %v with %v", objects, memory)
		}
		return err
	}
	if err := adopt(unknown); err == nil {
		t.Error("the owners of the fields are unknown")
	}
	r.fails("dry-run", "/a", http.StatusForbidden)
	if err := adopt(live); err != nil {
		t.Errorf("the plan reports it: %v", err)
	}
	r.Intercept = func(verb, _ string) kubetest.Fault {
		if verb == "dry-run" {
			return unowned
		}
		return nil
	}
	if err := adopt(live); err != nil {
		t.Errorf("a server without owners: %v", err)
	}
	r.Intercept = func(verb, _ string) kubetest.Fault {
		if verb == "dry-run" {
			return unreadableOwners
		}
		return nil
	}
	if err := adopt(live); err == nil {
		t.Error("the fields that an apply would own are unknown")
	}
}

func TestControllersDoNotGiveFields(t *testing.T) {
	t.Parallel()
	for manager, given := range map[string]bool{
		somebody: true, "kube-controller-manager": false, "kube-scheduler": false,
	} {
		if set, err := GivenFields(live(manager)); err != nil || set.Empty() == given {
			t.Errorf("%s: %v, %v", manager, set, err)
		}
	}
}

// A plan of an imported object without changes must be empty.
func TestApplyOfAnImportedObjectThatChangesNothingIsRecognized(t *testing.T) {
	t.Parallel()
	workload := func(extra ...any) *unstructured.Unstructured {
		obj := configMap("a")
		delete(obj.Object, "data")
		item := map[string]any{"name": "c"}
		for i := 0; i < len(extra); i += 2 {
			item[extra[i].(string)] = extra[i+1]
		}
		obj.Object["spec"] = map[string]any{"items": []any{item}}
		return obj
	}
	for name, c := range map[string]struct {
		planned *unstructured.Unstructured
		failing int
		want    bool
		failed  bool
		dryRun  bool
	}{
		"the same fields":        {planned: workload("k", "v"), want: true},
		"another value":          {planned: workload("k", "w")},
		"an omitted inner value": {planned: workload(), dryRun: true},
		"a rejection":            {planned: workload(), failing: http.StatusForbidden, dryRun: true},
		"no verdict": {planned: workload(), failing: http.StatusInternalServerError, failed: true,
			dryRun: true},
		"an inner value is added": {planned: workload("k", "v", "empty", ""), dryRun: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, memory, objects := newRun(t), Memory{}, Objects{}
			r.Server.Apply(t, kube.Manager, workload("k", "v"))
			if _, _, err := objects.Import(memory, r.Object(mapPath+"a")); err != nil {
				t.Fatal(err)
			}
			planned, err := ObjectOf(c.planned)
			if err != nil {
				t.Fatal(err)
			}
			if c.failing != 0 {
				r.fails("dry-run", "/a", c.failing)
			}
			got, err := AppliesNothing(t.Context(), r.Cluster, memory, planned, objects[mapKey])
			if got != c.want || (err != nil) != c.failed || (len(r.Requests("dry-run")) > 0) != c.dryRun {
				t.Errorf("%t, %v, requests %v", got, err, r.Requests("dry-run"))
			}
		})
	}
}

// The server has set a default inside a list, which the renderer omits. The annotation of the creation is no change.
func TestDryRunDecidesAboutDefaultsOfTheServer(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	items := func(item map[string]any) *unstructured.Unstructured {
		obj := configMap("a")
		obj.Object["data"] = []any{item}
		return obj
	}
	live := r.Server.Apply(t, kube.Manager, kube.MarkCreation(items(map[string]any{"k": "v"}), "some"))
	memory := Memory{mapKey: {UID: live.GetUID(), Creation: "some", Set: []byte(`{"f:data":{}}`)}}
	planned, prior := items(map[string]any{"k": "v"}), items(map[string]any{"k": "v", "default": "x"})
	same, err := AppliesNothing(t.Context(), r.Cluster, memory, &Object{Key: mapKey, Content: planned},
		&Object{Key: mapKey, Content: prior})
	if err != nil || !same || len(r.Requests("dry-run")) != 1 {
		t.Errorf("%t, %v, requests %v", same, err, r.Requests("dry-run"))
	}
}

func TestImportIDIsTheNamespaceAndTheName(t *testing.T) {
	t.Parallel()
	text := schema.StringAttribute{Optional: true}
	resources := schema.Schema{Attributes: map[string]schema.Attribute{"name": text, "namespace": text, "id": text}}
	object := resources.Type().TerraformType(t.Context())
	identities := IdentitySchema("thing")
	identityType := identities.Type().TerraformType(t.Context())
	identity := func(namespace any) *tfsdk.ResourceIdentity {
		return &tfsdk.ResourceIdentity{Schema: identities, Raw: tftypes.NewValue(identityType, map[string]tftypes.Value{
			"namespace": tftypes.NewValue(tftypes.String, namespace), "name": tftypes.NewValue(tftypes.String, "x"),
		})}
	}
	configured := newRun(t).data()
	broken := &tf.ProviderData{Run: run.New(t.Context(), kube.NewCluster(t.Context(), config.Config{
		ConfigPaths: []string{"/none"}, Env: config.Env{Getenv: func(string) string { return "" }},
	}), nil)}
	for name, c := range map[string]struct {
		data     *tf.ProviderData
		id       string
		identity *tfsdk.ResourceIdentity
		want     string // the ID
		failed   string // summary
	}{
		"an ID":                               {configured, "web/x", nil, "web/x", ""},
		"an ID without a namespace":           {configured, "x", nil, "", "Invalid import ID"},
		"an empty namespace":                  {configured, "/x", nil, "", "Invalid import ID"},
		"an empty name":                       {configured, "web/", nil, "", "Invalid import ID"},
		"three parts":                         {configured, "web/x/y", nil, "", "Invalid import ID"},
		"an identity":                         {configured, "", identity("web"), "web/x", ""},
		"an identity without a namespace":     {configured, "", identity(nil), "ml/x", ""},
		"a provider that is not configured":   {&tf.ProviderData{Unknown: true}, "", identity(nil), "/x", ""},
		"a namespace that cannot be resolved": {broken, "", identity(nil), "", "Unknown namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := resource.ImportStateResponse{
				State:    tfsdk.State{Schema: resources, Raw: tftypes.NewValue(object, nil)},
				Identity: &tfsdk.ResourceIdentity{Schema: identities, Raw: tftypes.NewValue(identityType, nil)},
			}
			ImportState(t.Context(), c.data, "trainer",
				resource.ImportStateRequest{ID: c.id, Identity: c.identity}, &resp)
			if c.failed != "" {
				if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Summary() != c.failed || !resp.State.Raw.IsNull() {
					t.Errorf("%v", resp.Diagnostics)
				}
				return
			}
			var state struct {
				Name      types.String `tfsdk:"name"`
				Namespace types.String `tfsdk:"namespace"`
				ID        types.String `tfsdk:"id"`
			}
			var out Identity
			resp.Diagnostics.Append(resp.State.Get(t.Context(), &state)...)
			resp.Diagnostics.Append(resp.Identity.Get(t.Context(), &out)...)
			if len(resp.Diagnostics) > 0 || state.ID.ValueString() != c.want || out.ID().ValueString() != c.want ||
				state.Namespace.ValueString()+"/"+state.Name.ValueString() != c.want {
				t.Errorf("state %v, identity %v, %v", state, out, resp.Diagnostics)
			}
		})
	}
}

func TestIdentityOfAResourceRequiresOnlyItsName(t *testing.T) {
	t.Parallel()
	attributes := IdentitySchema("thing").Attributes
	if name := attributes["name"]; !name.IsRequiredForImport() || name.GetDescription() != "Name of the thing." {
		t.Errorf("name: %+v", name)
	}
	if !attributes["namespace"].IsOptionalForImport() || len(attributes) != 2 {
		t.Errorf("%v", attributes)
	}
	for _, c := range []struct {
		identity Identity
		want     types.String
	}{
		{Identity{types.StringValue("ml"), types.StringValue("x")}, types.StringValue("ml/x")},
		{Identity{types.StringUnknown(), types.StringValue("x")}, types.StringUnknown()},
		{Identity{types.StringValue("ml"), types.StringUnknown()}, types.StringUnknown()},
	} {
		if got := c.identity.ID(); !got.Equal(c.want) {
			t.Errorf("%v: %v", c.identity, got)
		}
	}
}

// Another context of the kubeconfig must not move an existing object.
func TestNamespaceIsResolvedOnce(t *testing.T) {
	t.Parallel()
	configured := newRun(t).data()
	broken := &tf.ProviderData{Run: run.New(t.Context(), kube.NewCluster(t.Context(), config.Config{
		ConfigPaths: []string{"/none"}, Env: config.Env{Getenv: func(string) string { return "" }},
	}), nil)}
	text, null := types.StringValue, types.StringNull()
	for name, c := range map[string]struct {
		data                *tf.ProviderData
		configured, inState types.String
		want                types.String
		warned              string
	}{
		"configured":           {configured, text("web"), text("old"), text("web"), ""},
		"in state":             {configured, null, text("old"), text("old"), ""},
		"that of the provider": {configured, null, null, text("ml"), ""},
		"an unknown provider":  {&tf.ProviderData{Unknown: true}, null, null, types.StringUnknown(), ""},
		"an invalid kubeconfig": {broken, null, null, types.StringUnknown(),
			"The namespace of the thing is known only at apply"},
		"unknown in the same run": {configured, types.StringUnknown(), null, types.StringUnknown(), ""},
	} {
		got, diags := Namespace(c.data, c.configured, c.inState, "thing")
		if !got.Equal(c.want) || (len(diags) > 0) != (c.warned != "") || diags.HasError() ||
			len(diags) > 0 && !strings.Contains(diags[0].Detail(), c.warned) {
			t.Errorf("%s: %v, %v", name, got, diags)
		}
	}
}
