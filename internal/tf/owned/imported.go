package owned

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Import adds an entry for a live object that is not in state, and returns the fields that are ours. ours is false if
// this provider has not applied the object. Then no fields are ours, and the result contains only the identity.
func (m Memory) Import(live *unstructured.Unstructured) (obj *unstructured.Unstructured, ours bool, err error) {
	set, ours, err := kube.OwnedFields(live)
	if err != nil {
		return nil, false, err
	}
	if !ours {
		set = fieldpath.NewSet()
	}
	obj = &unstructured.Unstructured{Object: fields.Project(live.Object, set)}
	m.RememberSet(manifest.Key(obj), obj, live, set)
	return obj, ours, nil
}

// Import adds the fields of a live object that are ours to the objects and to the memory; see [Memory.Import].
func (o Objects) Import(
	memory Memory, live *unstructured.Unstructured,
) (obj *unstructured.Unstructured, ours bool, err error) {
	obj, ours, err = memory.Import(live)
	if err != nil {
		return nil, false, err
	}
	object, err := ObjectOf(obj)
	o[manifest.Key(obj)] = object
	return obj, ours, err
}

// Adopt adds an entry for a live object of another client, with the fields of rendered that this client has set, and
// returns the live values of these fields. A dry run determines which fields an apply of rendered would own. From then
// on, changes of these fields are drift, and the next apply removes those that it omits. ok is false, and nothing is
// changed, if the dry run fails.
func (o Objects) Adopt(
	ctx context.Context, cluster *kube.Cluster, memory Memory, live, rendered *unstructured.Unstructured,
) (ok bool, err error) {
	after, err := cluster.DryRun(ctx, rendered)
	if err != nil {
		return false, nil //nolint:nilerr // the plan reports it if it applies the object
	}
	wanted, ours, err := kube.OwnedFields(after)
	if !ours {
		return false, err
	}
	given, err := GivenFields(live)
	if err != nil {
		return false, err
	}
	set := wanted.Intersection(given)
	adopted := &unstructured.Unstructured{Object: fields.Project(live.Object, set)}
	key := manifest.Key(adopted)
	memory.RememberSet(key, adopted, live, set)
	entry := memory[key]
	entry.Adopted = true
	memory[key] = entry
	o[key], err = ObjectOf(adopted)
	return err == nil, err
}

// GivenFields returns the fields of an object that clients have set, rather than the controllers of Kubernetes.
func GivenFields(live *unstructured.Unstructured) (*fieldpath.Set, error) {
	return fields.Given(live, "kube-controller-manager", "kube-scheduler")
}

// AppliesNothing reports whether applying the planned text of an imported object would leave the object unchanged. If
// the texts are not sufficient, since the server may have set a default, it uses a dry run. It returns an error if the
// dry run failed without a verdict on the object.
func AppliesNothing(
	ctx context.Context, cluster *kube.Cluster, memory Memory, planned, prior *Object,
) (bool, error) {
	switch memory.Compare(planned.Key, planned.Content, prior.Content) {
	case fields.Equal:
		return true, nil
	case fields.Undecided:
		same, err := cluster.ApplyChangesNothing(ctx, memory.Marked(planned.Key, planned.Content))
		if unanswered(err) {
			return false, err
		}
		return err == nil && same, nil
	default:
		return false, nil
	}
}

// unanswered reports whether a dry run failed without a verdict on the object. A rejection is such a verdict, which
// the dry run of the whole plan explains.
func unanswered(err error) bool { return kube.AboutServer(err) }
