package owned

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
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
	// Held says whether a resource that the run has read has the object: that one
	// is replaced, or it is in conflict with the creation, see [PlanCreate].
	Held func(kube.Ref, types.UID) bool
	// Apart says that each object has the annotation and speaks for itself, as
	// where an update adds objects to a resource that exists.
	Apart bool

	id        string
	following bool // the first object has been admitted
	begun     bool // it is left from an interrupted run
	marked    bool // the first object has been marked
	created   []created
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
	switch {
	case err != nil:
		return err
	case !ours:
		return &foreignError{ref: ref.String(), managers: Managers(live)}
	case kube.UnfinishedCreation(live) != "":
		c.begun = c.begun || first
		return nil
	case c.begun && !first, live.GetDeletionTimestamp() != nil, c.Held != nil && c.Held(ref, live.GetUID()):
		return nil
	}
	return &takenError{ref: ref.String(), creation: c}
}

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
		return obj
	}
	if c.id == "" {
		c.id = kube.NewCreationID()
	}
	c.marked = true
	return kube.MarkUnfinished(obj, c.id)
}

// Created notes an object that was created.
func (c *Creation) Created(ref kube.Ref, live *unstructured.Unstructured) {
	c.created = append(c.created, created{ref: ref, live: live})
}

// Complete says that the resource goes into state now.
func (c *Creation) Complete(cluster *kube.Cluster) {
	cluster.Planned(c.Type + " " + c.ID).Executed()
	for _, one := range c.created {
		cluster.Complete(one.ref, one.live)
	}
}

// takenError says that an object belongs to another resource, here or in another state.
type takenError struct {
	ref      string
	creation *Creation
}

func (e *takenError) Error() string {
	return fmt.Sprintf("%s already exists. This provider created it for another resource, of this configuration or of another one: "+
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

// foreignError says that an object exists which this provider did not create.
type foreignError struct {
	ref      string
	managers []string
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s already exists and was not created by this provider; its fields are managed by %s. "+
		"Import it, choose another name, or set adopt_existing = true to take it over.", e.ref, strings.Join(e.managers, ", "))
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

// sameObject says whether live is the object with that UID; where none is
// remembered, whether its fields are ours.
func sameObject(live *unstructured.Unstructured, uid types.UID) (bool, error) {
	if uid != "" {
		return live.GetUID() == uid, nil
	}
	_, ours, err := kube.OwnedFields(live)
	return ours, err
}
