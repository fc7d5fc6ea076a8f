// Package lifecycle implements what all resources have in common: read, plan, create, update, delete and import. A
// resource adds its schema, its model and [Hooks].
package lifecycle

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Common are the attributes of every resource. A model embeds it.
type Common struct {
	Name               types.String   `tfsdk:"name"`
	Namespace          types.String   `tfsdk:"namespace"`
	AdoptExisting      types.Bool     `tfsdk:"adopt_existing"`
	DeletionProtection types.Bool     `tfsdk:"deletion_protection"`
	Labels             types.Map      `tfsdk:"labels"`
	Annotations        types.Map      `tfsdk:"annotations"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`
	ID                 types.String   `tfsdk:"id"`
	UID                types.String   `tfsdk:"uid"`
	Manifests          types.Map      `tfsdk:"manifests"`
	SensitiveFields    types.List     `tfsdk:"sensitive_fields"`
	SensitiveValues    types.Map      `tfsdk:"sensitive_values"`
}

func (c *Common) common() *Common { return c }

// Identity returns the namespace and the name.
func (c *Common) Identity() owned.Identity {
	return owned.Identity{Namespace: c.Namespace, Name: c.Name}
}

// embedding is a pointer to a model that embeds [Common].
type embedding interface{ common() *Common }

// commonOf returns the common attributes of a model; see [Model].
func commonOf[M any](model *M) *Common {
	with, _ := any(model).(embedding)
	return with.common()
}

// Model is a pointer to the model of a resource, which embeds [Common].
type Model[M any] interface {
	*M
	embedding
}

// Validation are the circumstances of a validation.
type Validation struct {
	// Hidden are the paths of the values that the configuration of a [Kind.Masked] lacks: they are unknown or invalid.
	Hidden tf.PathSet
	// WriteOnly reports whether the client supports write-only attributes.
	WriteOnly bool
}

// Kind describes a resource type.
type Kind struct {
	Type    string // kt_volume
	Noun    string // as in messages: volume
	Example string // name in messages about imports

	// Description and Attributes are the schema.
	Description string
	Attributes  func() map[string]schema.Attribute
	// Masked is true if the configuration that [Hooks] validate contains no unknown or invalid values.
	Masked bool

	// ObjectName returns the name of the first object of a resource; nil if it is the name of the resource.
	ObjectName func(name string) string

	// HasUID reports whether the attribute uid is that of an object of the resource; nil if it has only one.
	HasUID func(*unstructured.Unstructured) bool

	// Owner and Imports are those of [owned.Creation].
	Owner   func(*unstructured.Unstructured) (id string, known bool)
	Imports func(*unstructured.Unstructured) bool

	// Moves reports whether moved blocks can turn resources of other providers for objects of a kind into this one;
	// nil for none.
	Moves func(apischema.GroupKind) bool

	// FromConfig are attributes whose planned value the hooks derive from the configuration alone. Terraform may
	// propose another value than the prior one for them although nothing changes: that of a write-only attribute, or
	// null for a nested attribute that is optional and computed.
	FromConfig []string

	// Apply is the default time limit of a creation or an update, Delete that of a deletion. Those of the attribute
	// timeouts override them. See also [Waiter].
	Apply, Delete time.Duration
}

// Hooks are the part of the life cycle that differs between resources. M is the model, and N is what the resource
// remembers in private state in addition to [owned.Memory].
type Hooks[M, N any] interface {
	// Refresh updates the state to what the cluster has. The error [owned.ErrGone] removes the resource from state.
	Refresh(context.Context, *Reading[M, N]) error
	// Import fills in a state of which only the identity is known.
	Import(context.Context, *Reading[M, N]) error
	// Plan completes a planned creation or update.
	Plan(context.Context, *Planning[M, N])
	// Apply carries out a plan, saves the state with [Writing.Save], and waits.
	Apply(context.Context, *Writing[M, N])
	// Delete deletes the objects in state, and waits until they no longer exist.
	Delete(context.Context, *Deleting[M, N])
	// Validate validates a configuration, in addition to the schema, which reports empty attributes and null elements
	// itself.
	Validate(context.Context, *M, Validation) diag.Diagnostics
}

// Resource implements a resource.
type Resource[M, N any] struct {
	Kind  Kind
	Hooks Hooks[M, N]

	data *tf.ProviderData // nil until the provider is configured
}

// New returns a resource. Its model must embed [Common].
func New[M any, P Model[M], N any](k Kind, hooks Hooks[M, N]) *Resource[M, N] {
	return &Resource[M, N]{Kind: k, Hooks: hooks}
}

// Metadata names the resource type.
func (r *Resource[M, N]) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.Kind.Type
}

// Schema describes the resource.
func (r *Resource[M, N]) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: r.Kind.Description, Attributes: r.Kind.Attributes()}
}

// ValidateConfig checks the rules for combinations of attributes, without a cluster. Terraform validates again during
// the plan, when more values are known.
func (r *Resource[M, N]) ValidateConfig(
	ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse,
) {
	validate := func(strict bool) (diags diag.Diagnostics) {
		config, rules := new(M), Validation{WriteOnly: req.ClientCapabilities.WriteOnlyAttributesAllowed}
		if r.Kind.Masked {
			rules.Hidden, diags = tf.GetKnown(ctx, req.Config, config, strict)
		} else {
			diags = req.Config.Get(ctx, config)
		}
		if !diags.HasError() {
			diags.Append(r.Hooks.Validate(ctx, config, rules)...)
		}
		return diags
	}
	diags := validate(false)
	if diags.HasError() {
		diags = validate(true) // without errors about values that the schema reports
	}
	resp.Diagnostics.Append(diags...)
}

// Configure stores the data of the provider.
func (r *Resource[M, N]) Configure(
	_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse,
) {
	r.data = tf.DataOf(req.ProviderData, &resp.Diagnostics)
}

// IdentitySchema returns the schema of [owned.Identity].
func (r *Resource[M, N]) IdentitySchema(
	_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse,
) {
	resp.IdentitySchema = owned.IdentitySchema(r.Kind.Noun)
}

// ImportState accepts `namespace/name`, or the identity.
func (r *Resource[M, N]) ImportState(
	ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse,
) {
	owned.ImportState(ctx, r.data, r.Kind.Example, req, resp)
}

// object returns the namespace and the name of the first object of a resource.
func (k Kind) object(c *Common) owned.Identity {
	identity := c.Identity()
	if k.ObjectName != nil && !identity.Name.IsUnknown() {
		identity.Name = types.StringValue(k.ObjectName(identity.Name.ValueString()))
	}
	return identity
}

// creation returns the creation of the planned resource.
func (r *Resource[M, N]) creation(c *Common) *owned.Creation {
	return &owned.Creation{Type: r.Kind.Type, ID: c.Identity().ID().ValueString(), Adopt: c.AdoptExisting.ValueBool(),
		Owner: r.Kind.Owner, Imports: r.Kind.Imports}
}

// recorded reads what private state contains about a resource in state.
func (r *Resource[M, N]) recorded(ctx context.Context, private owned.PrivateReader, state *Common) (
	memory owned.Memory, privateState N, cluster owned.RecordedCluster, diags diag.Diagnostics,
) {
	cluster, diags = owned.ClusterOf(ctx, r.data, private, r.Kind.Type, state.ID)
	memory, unreadable := owned.LoadMemory(ctx, private)
	diags.Append(unreadable...)
	privateState, unreadable = owned.Load[N](ctx, private, privateStateKey)
	return memory, privateState, cluster, append(diags, unreadable...)
}

// recoverMemory adds the objects in state to the memory if the private state was lost.
func (r *Resource[M, N]) recoverMemory(memory owned.Memory, state *Common) {
	memory.RecoverObjects(state.Manifests, apitypes.UID(state.UID.ValueString()), r.Kind.HasUID)
}

func (r *Resource[M, N]) refuseIfProtected(c *Common) diag.Diagnostics {
	return owned.RefuseIfProtected(c.DeletionProtection.ValueBool(), r.Kind.Noun, c.ID.ValueString())
}

// refuseIfHeld returns an error if an action before the destruction of the resource failed in this run.
func (r *Resource[M, N]) refuseIfHeld(c *Common) diag.Diagnostics {
	id := c.ID.ValueString()
	reason := r.data.Holds.Reason(r.Kind.Type, id)
	if reason == "" {
		return nil
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic("Not destroyed: "+id, reason)}
}

// privateStateKey is the key in private state of what a resource remembers.
const privateStateKey = "notes"
