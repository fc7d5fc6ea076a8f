package image

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestOnlyPinDigestRequiresTheRegistry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reference string
		pinDigest bool
		want      registry.Pin
		known     bool
	}{
		"tag":                    {"a:1", false, registry.Pin{Image: "a:1"}, true},
		"tag with pin_digest":    {"a:1", true, registry.Pin{Image: "a:1"}, false},
		"digest":                 {"a@sha256:1", false, registry.Pin{Image: "a@sha256:1", Digest: "sha256:1"}, true},
		"digest with pin_digest": {"a@sha256:1", true, registry.Pin{Image: "a@sha256:1", Digest: "sha256:1"}, false},
	} {
		got, known := inputs{spec: image.Spec{PinDigest: c.pinDigest}, reference: c.reference}.withoutRegistry()
		if got != c.want || known != c.known {
			t.Errorf("%s: %+v, %t; want %+v, %t", name, got, known, c.want, c.known)
		}
	}
}

func TestConfiguredImageIsImageIDBaseOrFrom(t *testing.T) {
	t.Parallel()
	from := image.Dockerfile{From: "from:1"}
	for name, c := range map[string]struct {
		spec image.Spec
		want string
	}{
		"image_id":   {image.Spec{ImageID: "id:1"}, "id:1"},
		"base":       {image.Spec{Base: "pytorch"}, "nvcr.io/nvidia/pytorch:23.12-py3"},
		"dockerfile": {image.Spec{Dockerfile: "FROM from:1"}, "from:1"},
	} {
		if got, err := reference(c.spec, from); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := reference(image.Spec{Base: "no such base"}, from); err == nil {
		t.Errorf("an invalid base is accepted as %q", got)
	}
}

func TestUIDIsUnknownIfTheApplySetsIt(t *testing.T) {
	t.Parallel()
	text := types.StringValue
	named := func(name, uid string) model {
		m := model{Common: lifecycle.Common{Name: text(name), Namespace: text("ml"), UID: text(uid)}}
		if uid == "" {
			m.UID = types.StringNull()
		}
		return m
	}
	for name, c := range map[string]struct {
		state, plan model
		p           planner
		want        types.String
	}{
		"update": {state: named("a", "u"), plan: named("a", ""), want: text("u")},
		"creation": {plan: named("a", ""), p: planner{planning: &planning{Creating: true}},
			want: types.StringUnknown()},
		"rename": {state: named("a", "u"), plan: named("b", ""),
			p: planner{planning: &planning{Replace: path.Paths{path.Root("name")}}}, want: types.StringUnknown()},
		"lost response": {state: named("a", ""), plan: named("a", ""), want: types.StringUnknown()},
		"immutable field": {state: named("a", "u"), plan: named("a", ""), p: planner{planning: &planning{
			Replace: path.Paths{path.Root("manifests")}}},
			want: types.StringUnknown()},
		"terminating ConfigMap": {state: named("a", "u"), plan: named("a", ""),
			p:    planner{planning: &planning{Terminating: true}},
			want: types.StringUnknown()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.p
			if p.planning == nil {
				p.planning = &planning{}
			}
			p.State, p.Plan = &c.state, &c.plan
			if uid := p.UID(p.State.UID, true); !uid.Equal(c.want) {
				t.Errorf("uid is %s, want %s", uid, c.want)
			}
		})
	}
}

// A placeholder in the plan must not be another value in the state.
func TestDockerfileIsUnknownUntilItIsKnownWhetherItIsHidden(t *testing.T) {
	t.Parallel()
	text, unknown := types.StringValue, types.StringUnknown()
	fields := func(paths ...attr.Value) types.List { return types.ListValueMust(types.StringType, paths) }
	const from = "FROM a:1\n"
	for name, c := range map[string]struct {
		fields types.List
		want   types.String
	}{
		"not set":           {types.ListNull(types.StringType), text(from)},
		"another field":     {fields(text("metadata.labels")), text(from)},
		"the Dockerfile":    {fields(text("data")), text("(sensitive)")},
		"an unknown list":   {types.ListUnknown(types.StringType), unknown},
		"an unknown path":   {fields(unknown), unknown},
		"one of both known": {fields(text("data"), unknown), unknown},
	} {
		m := &model{Common: lifecycle.Common{SensitiveFields: c.fields}}
		m.setComputed(&model{ImageID: text("a:1")}, registry.Pin{Image: "a:1"}, image.Rendered{Dockerfile: from})
		if !m.RenderedDockerfile.Equal(c.want) || !m.Dockerfile.Equal(c.want) {
			t.Errorf("%s: %s and %s, want %s", name, m.RenderedDockerfile, m.Dockerfile, c.want)
		}
	}
}

func TestDigestOfTheLastRefreshIsUsedForTheSameReference(t *testing.T) {
	t.Parallel()
	last := registry.Pin{Image: "a@sha256:1", Digest: "sha256:1"}
	p := planner{planning: &planning{
		Data: &tf.ProviderData{Images: registry.New()}, PrivateState: privateState{Reference: "a:1", Pin: last}}}
	got, known := p.pin(t.Context(), inputs{spec: image.Spec{PinDigest: true}, reference: "a:1"})
	if got != last || !known || len(p.Diags) > 0 {
		t.Errorf("%+v, %t, %v", got, known, p.Diags)
	}
	// Retrying does not make an invalid reference valid.
	_, known = p.pin(t.Context(), inputs{spec: image.Spec{PinDigest: true}, reference: "A:1"})
	if known {
		t.Error("an invalid reference is resolved")
	}
	expect(t, p.Diags, "Error\npin_digest\nInvalid image reference")
}

func TestRegistryErrorsStateTheNextStep(t *testing.T) {
	t.Parallel()
	for reason, want := range map[registry.Reason]string{
		registry.Missing: "Image not found in the registry", registry.Refused: "Registry access denied",
		registry.Invalid: "Invalid image reference", registry.Unreachable: "Cannot reach the registry",
		registry.NoCredentials: "Cannot read the credentials of the registry",
	} {
		err := &registry.Error{Image: "a:1", Reason: reason, Err: errors.New("no reply")}
		expect(t, diag.Diagnostics{pinFailure(err, "")}, "Error\npin_digest\n"+want,
			"digest of a:1. no reply\n\nNext step: ")
		expect(t, diag.Diagnostics{pinFailure(err, "The plan continues.")}, "Warning\npin_digest\n"+want,
			"The plan continues.")
	}
}

func TestApplyFailsIfTheConfigMapDiffersFromThePlan(t *testing.T) {
	t.Parallel()
	object, err := image.ConfigMap(image.Meta{Name: "torch", Namespace: "ml"}, image.Spec{ImageID: "a:1"},
		image.Rendered{})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := owned.ManifestsOf(image.Summary(object))
	if err != nil {
		t.Fatal(err)
	}
	refOf := func(digest types.String) types.Object {
		m := &model{}
		m.setRef(digest)
		return m.Ref
	}
	changed := []string{"Error\nmanifests\nImage setup changed after the plan"}
	digest, omitted := types.StringValue("sha256:1"), types.MapUnknown(types.StringType) // as with compact_plans
	for name, c := range map[string]struct {
		planned types.Map
		ref     types.Object
		want    []string
	}{
		"the same":            {summary, refOf(digest), nil},
		"unknown":             {omitted, refOf(types.StringUnknown()), nil},
		"unknown ref":         {omitted, types.ObjectUnknown(refTypes()), nil},
		"different":           {tf.TextMap(map[string]string{manifest.Key(object): "{}"}), refOf(digest), changed},
		"omitted":             {omitted, refOf(digest), nil},
		"omitted, other file": {omitted, refOf(types.StringValue("sha256:2")), changed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := &model{Common: lifecycle.Common{Manifests: c.planned}, Ref: refOf(digest)}
			w := writer{writing: &writing{Plan: plan, Diags: &diag.Diagnostics{}}}
			if ok := w.matchesPlan(setupDigest(c.ref), summary); ok != (c.want == nil) {
				t.Errorf("matches the plan: %t", ok)
			}
			expect(t, *w.Diags, c.want...)
		})
	}
}

func TestLabelsOfOtherClientsAreNotAddedToTheAttribute(t *testing.T) {
	t.Parallel()
	labels := func(pairs ...string) types.Map {
		elements := map[string]attr.Value{}
		for _, pair := range pairs {
			key, value, _ := strings.Cut(pair, "=")
			elements[key] = types.StringValue(value)
		}
		return types.MapValueMust(types.StringType, elements)
	}
	live := map[string]string{"a": "2", "other": "x"}
	before := map[string]string{"a": "1", "removed": "1"}
	if got := tf.CurrentEntries(labels("a=1", "removed=1"), before, live); !got.Equal(labels("a=2")) {
		t.Errorf("labels %s", got)
	}
	if got := tf.CurrentEntries(types.MapNull(types.StringType), before, live); !got.IsNull() {
		t.Errorf("labels %s", got)
	}
}

// importFrom imports the image torch from a cluster that serves the documents, which have their paths as keys.
func importFrom(t *testing.T, docs map[string]string) (*reading, error) {
	t.Helper()
	server := httptest.NewServer(kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
			return code, body
		}
		var body map[string]any
		if err := yaml.Unmarshal([]byte(docs[path]), &body); err != nil {
			t.Error(err)
		}
		if body == nil {
			return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
				Details: &metav1.StatusDetails{Kind: "configmaps", Name: "x"}}
		}
		return http.StatusOK, body
	}})
	t.Cleanup(server.Close)
	settings := config.Config{Host: server.URL, Token: "x", Env: config.Env{Getenv: func(string) string { return "" }}}
	cluster := kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
	r := &reading{
		Data: &tf.ProviderData{Run: run.New(t.Context(), cluster, nil), Images: registry.New()}, Memory: owned.Memory{},
		State: &model{Common: lifecycle.Common{Name: types.StringValue("torch"), Namespace: types.StringValue("ml")}},
	}
	return r, hooks{}.Import(t.Context(), r)
}

func TestImportOfAConfigMapOfAnotherClientReadsOnlyItsName(t *testing.T) {
	t.Parallel()
	name := image.ConfigMapName("torch")
	r, err := importFrom(t, map[string]string{
		"/api/v1/namespaces/ml/configmaps/" + name: `{apiVersion: v1, kind: ConfigMap,
		metadata: {name: ` + name + `, namespace: ml, uid: u-1, resourceVersion: "1"},
		data: {Dockerfile: "FROM a:1"}}`})
	if err != nil || len(r.Diags) > 0 {
		t.Fatal(err, r.Diags)
	}
	if s := r.State; s.UID.ValueString() != "u-1" || !s.ImageID.IsNull() || s.AdoptExisting.ValueBool() ||
		!r.PrivateState.Imported || len(r.Memory) != 1 {
		t.Errorf("%+v", s)
	}
}

func TestImportOfAConfigMapThatIsBeingDeletedPlansItsReplacement(t *testing.T) {
	t.Parallel()
	name := image.ConfigMapName("torch")
	r, err := importFrom(t, map[string]string{
		"/api/v1/namespaces/ml/configmaps/" + name: `{apiVersion: v1, kind: ConfigMap,
		metadata: {name: ` + name + `, namespace: ml, uid: u-1, resourceVersion: "1",
			deletionTimestamp: "2026-01-02T03:04:05Z", finalizers: [example.com/hold]},
		data: {Dockerfile: "FROM a:1"}}`})
	if err != nil || len(r.Diags) != 1 || !strings.Contains(r.Diags[0].Summary(), "is being deleted") ||
		!r.Terminating {
		t.Error(err, r.Diags, r.Terminating)
	}
}

func TestImportOfAMissingConfigMapFails(t *testing.T) {
	t.Parallel()
	r, err := importFrom(t, nil)
	if !errors.Is(err, owned.ErrGone) {
		t.Errorf("error %v", err)
	}
	expect(t, r.Diags, "Nothing to import", "kubectl get configmaps -n ml")
}
