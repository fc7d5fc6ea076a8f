package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// Read brings state up to what the cluster has. It goes through the shared
// collections, so refreshing a thousand computes costs two lists.
func (r *computeResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if resp.Diagnostics.HasError() || !r.configured() {
		return // the cluster is made in this run: what is in state stands
	}
	memory, diags := loadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)

	noted, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)

	before := state
	look := reader{r: r, state: &state, memory: memory, notes: noted}
	var err error
	if state.Manifests.IsNull() {
		err = look.imported(ctx)
	} else {
		err = look.refresh(ctx)
	}
	if look.learned {
		resp.Diagnostics.Append(look.memory.save(ctx, resp.Private)...)
	}
	if look.notes != noted {
		resp.Diagnostics.Append(look.notes.save(ctx, resp.Private)...)
	}
	resp.Diagnostics.Append(look.diags...)
	switch {
	case errors.Is(err, errGone):
		resp.State.RemoveResource(ctx)
		return
	case kube.ClassOf(err) == kube.Denied:
		resp.Diagnostics.Append(tf.Caution(err, "The state is kept as it is."))
		return
	case err != nil:
		resp.Diagnostics.Append(tf.Failure(err))
		return
	}
	if !state.computesLike(&before) { // any drift shows in manifests too
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	}
}

// errGone says that an object, or a compute with all of its objects, is no more.
// A compute of which only the Service is left stays in state, so that a destroy
// finds it.
var errGone = errors.New("it does not exist")

// reader brings one state up to date.
type reader struct {
	r      *computeResource
	state  *model
	memory memory
	notes  notes
	diags  diag.Diagnostics

	learned bool // memory has changed
}

// refresh looks at every object that was applied.
func (l *reader) refresh(ctx context.Context) error {
	applied, diags := objectsOf(ctx, l.state.Manifests)
	l.diags.Append(diags...)
	sent, err := applied.decode()
	if err != nil {
		return err
	}
	now := objects{}
	for _, obj := range sent {
		key := manifest.Key(obj)
		ref, err := kube.RefOf(obj)
		if err != nil {
			return err
		}
		live, err := l.find(ctx, key, ref)
		switch {
		case errors.Is(err, errGone):
			if !isService(key) {
				l.state.UID, l.state.Ready = types.StringNull(), types.BoolValue(false)
			}
			continue
		case err != nil:
			return err
		}
		doc, changes, err := l.drift(key, obj, live)
		if err != nil {
			return err
		}
		if !isService(key) {
			l.workload(live)
		}
		now[key] = applied[key]
		if len(changes) == 0 {
			continue
		}
		l.warn(ref, changes)
		observed := &unstructured.Unstructured{Object: doc}
		if now[key], err = manifest.JSON(observed); err != nil {
			return err
		}
		if isService(key) {
			l.diags.Append(l.state.followEndpoint(ctx, manifest.ObserveEndpoint(obj), manifest.ObserveEndpoint(observed))...)
		} else {
			l.diags.Append(l.state.follow(ctx, manifest.Observe(obj), manifest.Observe(observed))...)
		}
	}
	if len(now) == 0 {
		return errGone
	}
	l.state.Manifests = now.value()
	return nil
}

// find returns the object that was applied, errGone where it is there no more.
// What somebody else has made in its place is another object.
func (l *reader) find(ctx context.Context, key string, ref kube.Ref) (*unstructured.Unstructured, error) {
	live, err := l.r.data.Cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		l.diags.AddWarning("An object was deleted outside of Terraform", fmt.Sprintf("%s does not exist any more. The next apply makes it again.", ref))
		return nil, errGone
	}
	known, ok := l.memory[key]
	if err != nil || !ok || known.UID == live.GetUID() {
		return live, err
	}
	_, ours, err := fields.Owned(live, kube.Manager)
	if err != nil {
		return nil, err
	}
	if !ours {
		l.diags.AddWarning("An object was replaced outside of Terraform",
			fmt.Sprintf("%s was deleted, and made again by somebody else: its fields are managed by %s.", ref, strings.Join(managers(live), ", ")))
		return nil, errGone
	}
	known.UID = live.GetUID() // deleted and restored with all of its metadata
	l.memory[key], l.learned = known, true
	return live, nil
}

// drift compares one object with what we applied. Where the private state has
// no memory of it, what the cluster says is ours now has to do.
func (l *reader) drift(key string, sent, live *unstructured.Unstructured) (map[string]any, []fields.Change, error) {
	applied, ok, err := l.memory.recall(key, sent)
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		set, ours, err := fields.Owned(live, kube.Manager)
		if err != nil || !ours {
			return sent.Object, nil, err
		}
		applied = fields.Applied{Object: sent.Object, Set: set}
	}
	doc, changes := applied.Drift(live, kube.Manager)
	return doc, changes, nil
}

// workload takes over what the live workload says of the compute as a whole.
func (l *reader) workload(live *unstructured.Unstructured) {
	l.state.UID = types.StringValue(string(live.GetUID()))
	l.state.Ready = types.BoolValue(ready.Assess(ready.Snapshot{Workload: live}).Ready)
	l.notes.Unready = l.notes.Unready && !l.state.Ready.ValueBool()
	if since := live.GetDeletionTimestamp(); since != nil {
		l.notes.Ending = true
		l.diags.AddWarning(fmt.Sprintf("%s %s is being deleted", live.GetKind(), l.state.ID.ValueString()),
			fmt.Sprintf("Its deletion began at %s. An apply waits until it is gone, and then makes it again.", since.UTC().Format(time.RFC3339)))
	}
}

// warn names every changed field, who changed it and when. The values stand in
// the plan's diff, where Terraform hides the ones that it knows to be sensitive.
func (l *reader) warn(ref kube.Ref, changes []fields.Change) {
	lines := make([]string, 0, len(changes))
	for _, change := range changes {
		line := "  - " + change.Path + ": "
		switch {
		case change.Removed && change.Manager == "":
			line += "removed (Kubernetes keeps no record of who removes a field)"
		case change.Removed:
			line += "removed; the last to write to the object was " + change.Manager
		case change.Manager == "":
			line += "changed"
		default:
			line += "changed by " + change.Manager
		}
		if !change.Time.IsZero() {
			line += " at " + change.Time.UTC().Format(time.RFC3339)
		}
		lines = append(lines, line)
	}
	l.diags.AddWarning(fmt.Sprintf("%s was changed outside of Terraform", ref),
		"These fields no longer hold what was applied:\n"+strings.Join(lines, "\n")+
			"\n\nThe next apply puts them back. To keep a change, put it into the configuration, or into lifecycle.ignore_changes.")
}
