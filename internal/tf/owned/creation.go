package owned

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// Creation is the creation of one resource. It decides which existing objects become objects of the resource: those
// that an interrupted run of the same creation left behind and those that the resource adopts, but never those of
// another state.
//
// The objects are admitted in the order in which they are applied. The first one has [kube.UnfinishedAnnotation]
// until the creation is in state. This annotation also counts for the other objects.
type Creation struct {
	// Type and ID are the values for an import block: kt_volume, ml/datasets.
	Type, ID string
	// Adopt takes over existing objects, regardless of who created them.
	Adopt bool
	// Replaced is the memory of the resource that is deleted before this one is created.
	Replaced Memory
	// HeldBy returns the type and ID of the resource in state that has the object with a UID, or "". A resource with
	// the same type and ID is either replaced, or in conflict with the creation; see [PlanCreate].
	HeldBy func(types.UID) string
	// Owner returns the ID of the resource that an object of this provider names as its owner. known is false if the
	// object has no such field. The ID is "" if it belongs to none, so that any may have it. Owner may be nil.
	Owner func(*unstructured.Unstructured) (id string, known bool)
	// PerObject is true if each object has the annotation and counts only for itself, because an update adds objects
	// to an existing resource.
	PerObject bool
	// Imports reports whether an import of the resource finds an existing object, or one that it belongs to; nil if it
	// finds any.
	Imports func(*unstructured.Unstructured) bool

	id        string
	pastFirst bool      // the first object has been admitted
	resumed   bool      // the first object is from an interrupted run
	continued bool      // the last admitted object is that one, and in no state that this run knows
	marked    bool      // the first object has been marked
	created   []created // objects of the resource in state
	claimed   []kube.Ref
	missing   []string // by Ref.Key: LookUp found no object with that name
}

type created struct {
	ref  kube.Ref
	live *unstructured.Unstructured // nil if the outcome is unknown
}

// Admit returns an error if live cannot become an object of the resource. live is nil if the object does not exist.
func (c *Creation) Admit(ref kube.Ref, live *unstructured.Unstructured) error {
	first := c.PerObject || !c.pastFirst
	c.pastFirst = true
	if live == nil || c.Adopt || c.replaces(live) {
		return nil
	}
	_, ours, err := kube.OwnedFields(live)
	holder, owner, known := "", "", false
	if c.HeldBy != nil {
		holder = c.HeldBy(live.GetUID())
	}
	if c.Owner != nil {
		owner, known = c.Owner(live)
	}
	switch {
	case err != nil:
		return err
	case !ours:
		return c.foreignError(ref, live, Managers(live), nil)
	case holder != "" && holder != c.resource():
		return c.sharedError(ref.String(), holder)
	case known && owner == "":
		return nil
	case known && owner != c.ID && holder == "": // also if another object is from an interrupted run
	case holder != "", kube.UnfinishedCreation(live) != "":
		c.resumed = c.resumed || first
		c.continued = holder == "" && first && !c.PerObject && live.GetDeletionTimestamp() == nil
		return nil
	case c.resumed && !first, live.GetDeletionTimestamp() != nil:
		return nil
	}
	return c.otherResourceError(ref, owner, "")
}

// ContinuedWarning reports that the creation continues that of an interrupted run, if the last admitted object is from
// one. It may be that of another state.
func (c *Creation) ContinuedWarning(ref kube.Ref) diag.Diagnostics {
	if c == nil || !c.continued {
		return nil
	}
	c.continued = false
	return diag.Diagnostics{diag.NewAttributeWarningDiagnostic(path.Root("name"), ref.String()+" already exists",
		"A run that was interrupted created it. This plan continues its creation: the apply changes the object to "+
			"this configuration, and it then belongs to this resource.\n\nNext step: If that run was of another "+
			"configuration, choose another name or namespace. A destroy of this resource deletes it for both.")}
}

// resource returns the type and ID.
func (c *Creation) resource() string { return c.Type + " " + c.ID }

// skip counts an object that does not exist, or is deleted before the creation, as admitted.
func (c *Creation) skip() {
	if c != nil {
		c.pastFirst = true
	}
}

// Holds reports whether the resource in state has an object, which is deleted before the creation.
func (c *Creation) Holds(live *unstructured.Unstructured) bool {
	return c.HeldBy != nil && c.HeldBy(live.GetUID()) == c.resource()
}

func (c *Creation) replaces(live *unstructured.Unstructured) bool {
	return c.Replaced[manifest.Key(live)].UID == live.GetUID() && live.GetUID() != ""
}

// check reads an object and admits it.
func (c *Creation) check(ctx context.Context, cluster *kube.Cluster, ref kube.Ref) error {
	live, err := cluster.Store.Get(ctx, ref)
	if err != nil && !kube.IsNotFound(err) {
		return err
	}
	return c.Admit(ref, live)
}

// Mark returns the object to send in order to create obj.
func (c *Creation) Mark(obj *unstructured.Unstructured) *unstructured.Unstructured {
	marked := kube.MarkCreation(obj, c.identity())
	if c.marked && !c.PerObject {
		return marked
	}
	c.marked = true
	return kube.MarkUnfinished(marked, c.identity())
}

// identity returns the random ID of this creation.
func (c *Creation) identity() string {
	if c.id == "" {
		c.id = kube.NewCreationID()
	}
	return c.id
}

// Claim makes deletions of ref in this run wait for the outcome of the creation, and calls look to find an existing
// object.
func (c *Creation) Claim(r *run.Run, ref kube.Ref, look func() error) error {
	c.claimed = append(c.claimed, ref)
	return r.Claim(ref, look)
}

// End ends the claims of a creation that is not in state. It does nothing after [RecordCreated] or Complete.
func (c *Creation) End(r *run.Run) { c.endClaims(r, false) }

// Created records that the state of the resource has an object. live is nil if it is unknown whether the object was
// created.
func (c *Creation) Created(ref kube.Ref, live *unstructured.Unstructured) {
	c.created = append(c.created, created{ref: ref, live: live})
}

// endClaims ends all claims. Objects that a failed apply did not reach are in no state, whether the resource is or not.
func (c *Creation) endClaims(r *run.Run, inState bool) {
	for _, ref := range c.claimed {
		has := slices.ContainsFunc(c.created, func(one created) bool { return one.ref.Key() == ref.Key() })
		r.EndClaim(ref, inState && has)
	}
}

// Complete records that the resource is in state, with the objects that were created.
func (c *Creation) Complete(r *run.Run) {
	r.Planned(c.resource()).Executed()
	c.endClaims(r, true)
	for _, one := range c.created {
		if one.live != nil {
			r.Complete(one.ref, one.live)
		}
	}
}

// ownershipError reports that an object belongs to somebody else.
type ownershipError struct{ diag.Diagnostic }

func (e *ownershipError) Error() string { return e.Detail() }

// otherResourceError reports that an object belongs to another resource, of this state or of another one. owner is the
// ID of the resource that the object names, or "". The detail begins with overwritten.
func (c *Creation) otherResourceError(ref kube.Ref, owner, overwritten string) *ownershipError {
	detail := fmt.Sprintf("%s already exists. This provider created it for another resource, of this "+
		"configuration or of another one. If two resources managed it, destroying one of them would delete it for "+
		"both.\n\n"+
		"Choose one:\n"+
		"  - Use another name or namespace.\n"+
		"  - If a resource was renamed in the configuration, add a moved block.\n"+
		"  - If a replacement with create_before_destroy causes this, remove create_before_destroy from the resource "+
		"and from those that depend on it: two objects cannot have the same name.\n"+
		"  - To manage it here, remove it from the other state with `terraform state rm`, and import it:\n%s\n"+
		"  - To take it over without an import, set adopt_existing = true.", ref, importBlock(c.Type, c.ID))
	if owner != "" && owner != c.ID { // others may use the object, but only its owner describes it
		detail = fmt.Sprintf("%s already exists. %s %s, of this configuration or of another one, defines "+
			"it.\n\nNext step: To use it as it is, only name it: remove the attributes that describe it, such as "+
			"node_labels and node_taints. Otherwise, use another name.", ref, c.Type, owner)
	}
	return &ownershipError{diag.NewErrorDiagnostic(ref.String()+" belongs to another resource", overwritten+detail)}
}

// importBlock returns an import block for a message.
func importBlock(resourceType, id string) string {
	lines := []string{"import {", fmt.Sprintf("  to = %s.NAME", resourceType), fmt.Sprintf("  id = %q", id), "}"}
	return "      " + strings.Join(lines, "\n      ")
}

// sharedError reports that another resource of the run plans the same object.
func (c *Creation) sharedError(object, other string) *ownershipError {
	return &ownershipError{diag.NewAttributeErrorDiagnostic(path.Root("name"), object+" belongs to another resource",
		fmt.Sprintf("%s is an object of %s, and %s needs an object with the same kind, namespace and name. "+
			"Both would write to it, and destroying one of them would delete it for both.\n\n"+
			"Next step: Change the name or the namespace of one of the two resources.", object, other, c.resource()))}
}

// foreignError reports that an object exists that this provider did not create. added is the error of removing the
// fields that this run added to it, or nil if none remain.
func (c *Creation) foreignError(
	ref kube.Ref, live *unstructured.Unstructured, managers []string, added error,
) *ownershipError {
	remains := ""
	if added != nil {
		remains = fmt.Sprintf("\n\nIt was created during this run, which added fields to it and could not remove them "+
			"again: %v\nRemove the fields that this configuration added.", added)
	}
	step := "Choose another name, delete it if nobody needs it,"
	if !c.PerObject && (c.Imports == nil || c.Imports(live)) { // an import can create the resource with it
		step = "Import it, choose another name,"
	}
	return &ownershipError{diag.NewErrorDiagnostic(ref.String()+" was not created by this provider",
		fmt.Sprintf("%s already exists and was not created by this provider. Its fields are managed by %s.\n\n"+
			"Next step: %s or set adopt_existing = true to take it over.%s",
			ref, strings.Join(managers, ", "), step, remains))}
}

// Managers returns the managers that own fields of an object, for messages.
func Managers(obj *unstructured.Unstructured) []string {
	if managers := managersOf(obj); len(managers) > 0 {
		return managers
	}
	return []string{"no recorded manager"}
}

// managersOf returns the managers that own fields of the object itself rather than of its status only.
func managersOf(obj *unstructured.Unstructured) []string {
	var out []string
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource == "" {
			out = append(out, entry.Manager)
		}
	}
	return out
}
