package actions_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	k8s "k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
	"github.com/ktdev/terraform-provider-kt/test/acctest/paths"
)

// richPod replaces the pods of specs in the drift of fields.
const richPod = `automountServiceAccountToken: false, hostAliases: [{ip: 10.0.0.1, hostnames: [a, b]}], ` +
	`volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}, {name: settings, configMap: {name: settings}}], ` +
	`containers: [{name: kubetorch, image: "a:1", ports: [{name: http, containerPort: 80}], ` +
	`env: [{name: KEY, valueFrom: {secretKeyRef: {name: token, key: TOKEN}}}], command: [serve, --fast], ` +
	`volumeMounts: [{name: scratch, mountPath: /scratch}]}]`

// richAttributes are of the pods of every kind but the tensor servers, which refuse some.
const richAttributes = labels + `
  annotations       = { owner = "alice" }
  env_vars          = { MODE = "fast", LEVEL = "3" }
  cpus              = "500m"
  memory            = "1Gi"
  node_selector     = { "kubernetes.io/os" = "linux" }
  tolerations       = [{ key = "spot", operator = "Equal", value = "yes", effect = "NoSchedule" }]
  working_dir       = "/srv"
  image_pull_policy = "IfNotPresent"
`

// changedAtLeast returns the number of owned fields that another client must be able to change. The API server refuses
// most changes of a Pod and of the pods of a Job.
func changedAtLeast(k kind.Kind) int {
	switch {
	case k.Server != nil: // its spec has few fields, and its template is rendered by the operator
		return 10
	case k.Kind == "Pod", k.Kind == "Job":
		return 8
	default:
		return 24
	}
}

// TestAccDriftOfEveryOwnedFieldOfEveryKindIsRepaired changes, as another client, every field that the provider owns of
// a workload of each kind, as far as the API server accepts it. The plan names each, and the apply restores it.
func TestAccDriftOfEveryOwnedFieldOfEveryKindIsRepaired(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t).WithComputes(t)
	s := newSuite(t)
	for _, k := range kind.Workloads() {
		m := member{kind: k}
		s.members = append(s.members, m)
		attributes := richAttributes
		if k.Server != nil {
			attributes = labels + "env_vars = { MODE = \"fast\", LEVEL = \"3\" }\n"
		}
		s.bodies[m.name()] = m.common() + attributes + m.workload(strings.NewReplacer(
			`containers: [{name: kubetorch, image: "a:1"}]`, richPod,
			`containers: [{name: kubetorch, image: "broken.invalid/pull:1"}]`, richPod).Replace(m.spec()))
	}
	s.computes.Change(t, s.bodies)
	before, client := s.live(), s.client()
	drifts := map[string]*fieldDrift{}
	for _, m := range s.members {
		d := &fieldDrift{t: t, member: m, before: before[m.name()],
			client: client.Resource(m.kind.GroupVersion().WithResource(m.kind.Resource)).Namespace(s.ns)}
		d.make(s.sent(m))
		drifts[m.name()] = d
	}
	plans := s.computes.Plan(t, s.bodies)
	for name, d := range drifts {
		d.check(plans[name])
	}
	s.computes.Apply(t, plans)
	s.computes.ExpectNoChange(t, s.bodies)
	after := s.live()
	for name, d := range drifts {
		d.expectRepaired(after[name])
	}
	s.computes.Destroy(t)
}

// client returns a client that takes over fields, as those that update objects do.
func (s *suite) client() *k8s.DynamicClient {
	s.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", withCRDs.Kubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	client, err := k8s.NewForConfig(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// sent returns the workload as the provider has sent it, from the state.
func (s *suite) sent(m member) map[string]any {
	s.t.Helper()
	manifests, _ := s.computes.Attribute(m.name(), "manifests").(map[string]any)
	for _, element := range manifests {
		text, there := element.(string) // null: Kubetorch's CRD is not installed
		if !there {
			continue
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(text)); err != nil {
			s.t.Fatal(err)
		}
		if obj.GroupVersionKind() == m.kind.GroupVersionKind {
			return obj.Object
		}
	}
	s.t.Fatalf("%s: the state has no %s", m.name(), m.kind.Word())
	return nil
}

// fieldDrift is the change of the owned fields of one workload.
type fieldDrift struct {
	t       *testing.T
	member  member
	client  k8s.ResourceInterface
	before  *unstructured.Unstructured
	changed []fieldpath.Path
	refused []string // with the reason
}

// owned returns the owned fields that a change does not turn into another object or list item.
func (d *fieldDrift) owned() []fieldpath.Path {
	d.t.Helper()
	set, found, err := fields.Owned(d.before)
	if err != nil || !found {
		d.t.Fatalf("%s: nothing is owned: %v", d.member.name(), err)
	}
	return slices.DeleteFunc(fields.Paths(set.Leaves()), func(path fieldpath.Path) bool {
		last := path[len(path)-1].FieldName
		return last == nil || len(path) == 1 || isKey(path[len(path)-2], *last) ||
			*last == kube.CreationAnnotation || *last == kube.UnfinishedAnnotation
	})
}

// isKey reports whether a field identifies a list item.
func isKey(item fieldpath.PathElement, name string) bool {
	return item.Key != nil && slices.ContainsFunc(*item.Key, func(key value.Field) bool { return key.Name == name })
}

// make changes every owned field that the API server allows to change, in one request. sent is what the provider has
// sent: defaults of the server inside of an owned list or map are not the provider's.
func (d *fieldDrift) make(sent map[string]any) {
	d.t.Helper()
	next := d.before.Object
	for _, path := range d.owned() {
		now, has := paths.At(next, path)
		if !has {
			d.t.Errorf("%s: %s is owned, but does not exist", d.member.name(), path)
			continue
		}
		wanted, _ := paths.At(sent, path)
		if tried := d.firstAccepted(next, path, variants(now, wanted)); tried != nil {
			next, d.changed = tried, append(d.changed, path)
		}
	}
	if err := d.patch(next); err != nil {
		d.t.Errorf("%s: %v", d.member.name(), err)
	}
}

// variants returns other values of a field. For a list or map that is owned as a whole, one scalar inside differs.
func variants(now, sent any) []any {
	var all []any
	for _, at := range paths.Scalars(sent, nil) {
		if len(at) == 0 {
			return paths.Others(now)
		}
		for _, other := range paths.Others(paths.Step(now, at)) {
			all = append(all, paths.Inside(now, at, func(in, last any) any {
				switch in := in.(type) {
				case map[string]any:
					in[last.(string)] = other
				case []any:
					in[last.(int)] = other
				}
				return in
			}))
		}
	}
	return all
}

// firstAccepted returns the object with the first value of a field that the API server accepts, or nil.
func (d *fieldDrift) firstAccepted(object map[string]any, path fieldpath.Path, values []any) map[string]any {
	reason := "no other value"
	for _, to := range values {
		next := paths.Edited(object, path, to)
		err := d.patch(next, metav1.DryRunAll)
		if err == nil {
			return next
		}
		reason = err.Error()
		if strings.Contains(reason, "immutable") || strings.Contains(reason, "orbidden") {
			break
		}
	}
	d.refused = append(d.refused, fields.String(path)+": "+reason[:min(len(reason), 200)])
	return nil
}

// patch writes the content of an object, whatever the version of the object is.
func (d *fieldDrift) patch(to map[string]any, dryRun ...string) error {
	d.t.Helper()
	metadata, _ := to["metadata"].(map[string]any)
	content := map[string]any{"spec": to["spec"], "metadata": map[string]any{"labels": metadata["labels"],
		"annotations": metadata["annotations"]}}
	data, err := json.Marshal(content)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = d.client.Patch(d.t.Context(), d.before.GetName(), types.MergePatchType, data,
		metav1.PatchOptions{FieldManager: "kubectl-edit", DryRun: dryRun})
	return err
}

// check expects that a plan names the changed fields, and no other.
func (d *fieldDrift) check(p *core.Plan) {
	d.t.Helper()
	name, want := d.member.name(), core.Update
	named := map[string]bool{}
	for _, path := range d.changed {
		named[fields.String(path)] = false
		if d.member.isCreationOnly(fieldNames(path)) {
			want = core.Replace
		}
	}
	if p.Action != want || !slices.Contains(p.Attributes(), "manifests") {
		d.t.Errorf("%s: the plan is %s of %q; want %s", name, p.Action, p.Attributes(), want)
	}
	for line := range strings.SplitSeq(strings.Join(p.Warnings, "\n"), "\n") {
		field, by, ok := strings.Cut(strings.TrimPrefix(line, "  - "), ": changed by kubectl-edit at ")
		if !ok || by == "" {
			continue
		}
		if _, changed := named[field]; !changed {
			d.t.Errorf("%s: the plan names %s, which was not changed", name, field)
		}
		named[field] = true
	}
	for _, field := range slices.Sorted(maps.Keys(named)) {
		if !named[field] {
			d.t.Errorf("%s: the plan does not name %s:\n%s", name, field, strings.Join(p.Warnings, "\n"))
		}
	}
	if n := len(d.changed); n < changedAtLeast(d.member.kind) {
		d.t.Errorf("%s: %d fields were changed; refused:\n%s", name, n, strings.Join(d.refused, "\n"))
	}
	d.t.Logf("%s: %d fields were changed, %d refused", name, len(d.changed), len(d.refused))
}

// fieldNames returns the names of the fields in a path.
func fieldNames(path fieldpath.Path) []string {
	var all []string
	for _, element := range path {
		if element.FieldName != nil {
			all = append(all, *element.FieldName)
		}
	}
	return all
}

// expectRepaired checks that all owned fields have the values from before the change.
func (d *fieldDrift) expectRepaired(after *unstructured.Unstructured) {
	d.t.Helper()
	for _, path := range d.owned() {
		was, _ := paths.At(d.before.Object, path)
		if is, _ := paths.At(after.Object, path); !reflect.DeepEqual(was, is) {
			d.t.Errorf("%s: %s is %v after the apply; was %v", d.member.name(), fields.String(path), is, was)
		}
	}
}
