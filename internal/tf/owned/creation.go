package owned

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Creation is the creation of one resource. It decides which objects that exist
// already become the resource's: those that an interrupted run of the same
// creation left, those that the resource adopts, and none of another state.
//
// The objects are admitted in the order in which they are applied. The first
// one carries [kube.UnfinishedAnnotation] until the creation is in state, and
// speaks for the others.
type Creation struct {
	// Type and ID are those of an import block: kt_volume, ml/datasets.
	Type, ID string
	// Adopt takes over what exists, whoever made it.
	Adopt bool
	// Replaced is of the resource that is deleted before this one is created.
	Replaced Memory
	// HeldBy returns the type and ID of the resource in state that has the object
	// with a UID, "" for none. One of this type and ID is replaced, or it is in
	// conflict with the creation, see [PlanCreate].
	HeldBy func(types.UID) string
	// Apart says that each object has the annotation and speaks for itself, as
	// where an update adds objects to a resource that exists.
	Apart bool

	id        string
	following bool // the first object has been admitted
	begun     bool // it is left from an interrupted run
	marked    bool // the first object has been marked
	created   []created
	claimed   []kube.Ref
	isNew     map[string]bool // by Ref.String: no object of that name was there at the last look
}

type created struct {
	ref  kube.Ref
	live *unstructured.Unstructured
}

// Admit returns an error if live, nil for none, cannot become the resource's.
func (c *Creation) Admit(ref kube.Ref, live *unstructured.Unstructured) error {
	first := c.Apart || !c.following
	c.following = true
	if live == nil || c.Adopt || c.replaces(live) {
		return nil
	}
	_, ours, err := kube.OwnedFields(live)
	holder := ""
	if c.HeldBy != nil {
		holder = c.HeldBy(live.GetUID())
	}
	switch {
	case err != nil:
		return err
	case !ours:
		return &foreignError{ref: ref.String(), managers: Managers(live)}
	case holder != "" && holder != c.resource():
		return &sharedError{object: ref.String(), resource: c.resource(), other: holder}
	case holder != "", kube.UnfinishedCreation(live) != "":
		c.begun = c.begun || first
		return nil
	case c.begun && !first, live.GetDeletionTimestamp() != nil:
		return nil
	}
	return &takenError{ref: ref.String(), creation: c}
}

// resource is the type and ID.
func (c *Creation) resource() string { return c.Type + " " + c.ID }

// leave passes over an object that is deleted before the creation.
func (c *Creation) leave() {
	if c != nil {
		c.following = true
	}
}

func (c *Creation) replaces(live *unstructured.Unstructured) bool {
	return c.Replaced[manifest.Key(live)].UID == live.GetUID() && live.GetUID() != ""
}

// check is Admit of the object that the cluster has.
func (c *Creation) check(ctx context.Context, cluster *kube.Cluster, ref kube.Ref) error {
	live, err := cluster.Read(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		return c.Admit(ref, nil)
	case err != nil:
		return err
	}
	return c.Admit(ref, live)
}

// Mark returns what to send to create obj.
func (c *Creation) Mark(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if c.marked && !c.Apart {
		return kube.MarkCreation(obj, c.identity())
	}
	c.marked = true
	return kube.MarkUnfinished(obj, c.identity())
}

// identity is the random id of this creation.
func (c *Creation) identity() string {
	if c.id == "" {
		c.id = kube.NewCreationID()
	}
	return c.id
}

// Claim has deletions of ref by this run wait for the outcome of the creation,
// and calls look to see what is there.
func (c *Creation) Claim(cluster *kube.Cluster, ref kube.Ref, look func() error) error {
	c.claimed = append(c.claimed, ref)
	return cluster.Claim(ref, look)
}

// End says that the creation has ended without its resource in state, unless
// [Settle] or Complete was called before.
func (c *Creation) End(cluster *kube.Cluster) { c.endClaims(cluster, false) }

func (c *Creation) endClaims(cluster *kube.Cluster, inState bool) {
	for _, ref := range c.claimed {
		cluster.EndClaim(ref, inState)
	}
}

// Created notes an object that was created.
func (c *Creation) Created(ref kube.Ref, live *unstructured.Unstructured) {
	c.created = append(c.created, created{ref: ref, live: live})
}

// Complete says that the resource goes into state now.
func (c *Creation) Complete(cluster *kube.Cluster) {
	cluster.Planned(c.resource()).Executed()
	c.endClaims(cluster, true)
	for _, one := range c.created {
		cluster.Complete(one.ref, one.live)
	}
}

// takenError says that an object belongs to another resource, here or in another state.
type takenError struct {
	ref      string
	creation *Creation

	overwritten bool // both runs have created it at the same time
}

func (e *takenError) Error() string {
	overwritten := ""
	if e.overwritten {
		overwritten = "Another run created it at the same moment as this one, so it has the values of this configuration now. " +
			"The next apply of the other one puts its own back. "
	}
	return overwritten + fmt.Sprintf("%s already exists. This provider created it for another resource, of this configuration or of another one: "+
		"if both had it, destroying one of them would delete it for both.\n\n"+
		"Choose one:\n"+
		"  - Use another name or namespace.\n"+
		"  - If a resource was renamed in the configuration, add a moved block.\n"+
		"  - If a replacement with create_before_destroy brought this up, leave that out, also of what depends on it: "+
		"two objects cannot have the same name.\n"+
		"  - To manage it here from now on, remove it from the other state with `terraform state rm`, and import it:\n%s\n"+
		"  - To take it over without an import, set adopt_existing = true.", e.ref, importBlock(e.creation.Type, e.creation.ID))
}

// importBlock is one to paste.
func importBlock(resourceType, id string) string {
	lines := []string{"import {", fmt.Sprintf("  to = %s.NAME", resourceType), fmt.Sprintf("  id = %q", id), "}"}
	return "      " + strings.Join(lines, "\n      ")
}

func (e *takenError) diagnostic() diag.Diagnostic {
	return diag.NewErrorDiagnostic(e.ref+" belongs to another resource", e.Error())
}

// sharedError says that two resources of one run are to have the same object.
type sharedError struct{ object, resource, other string }

func (e *sharedError) Error() string {
	return fmt.Sprintf("%s is an object of %s, and %s needs an object with the same kind, namespace and name. "+
		"Both would write to it, and destroying one of them would delete it for both. "+
		"Change the name or the namespace of one of the two resources.", e.object, e.other, e.resource)
}

func (e *sharedError) diagnostic() diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("name"), e.object+" belongs to another resource", e.Error())
}

// foreignError says that an object exists which this provider did not create.
type foreignError struct {
	ref      string
	managers []string
	added    error // why fields that were added to it could not be taken back, nil where none are there
}

func (e *foreignError) Error() string {
	added := ""
	if e.added != nil {
		added = fmt.Sprintf("\n\nIt was created during this run, which has added fields to it and could not remove them again: %v\n"+
			"Remove what this configuration has added.", e.added)
	}
	return fmt.Sprintf("%s already exists and was not created by this provider; its fields are managed by %s. "+
		"Import it, choose another name, or set adopt_existing = true to take it over.%s", e.ref, strings.Join(e.managers, ", "), added)
}

// Managers are those who hold fields of an object, for messages.
func Managers(obj *unstructured.Unstructured) []string {
	var out []string
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource == "" {
			out = append(out, entry.Manager)
		}
	}
	if len(out) == 0 {
		return []string{"nobody on record"}
	}
	return out
}
