package actions

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// model is a pointer to a model M, which embeds [limited].
type model[M any] interface {
	*M
	limit() tf.Duration
	// identity returns the attributes that identify the object of the action.
	identity() tf.Attributes
	// resolve sets the identity of the call, and returns the path of the attribute that identifies the object.
	resolve(c *call) (path.Path, diag.Diagnostics)
}

// limited contains the attribute of all actions. A model embeds it.
type limited struct {
	Timeout tf.Duration `tfsdk:"timeout"`
}

func (l *limited) limit() tf.Duration { return l.Timeout }

// common contains the attributes of all actions on a compute. A model embeds it.
type common struct {
	tf.Target
	limited
}

func (*common) identity() tf.Attributes { return tf.TargetAttributes(tf.OptionalText) }

func (m *common) resolve(c *call) (path.Path, diag.Diagnostics) {
	at, diags := m.Resolve(c.cluster)
	c.namespace, c.name = m.Namespace.ValueString(), m.Name.ValueString()
	return at, diags
}

// waitModel contains the attributes of an action on a compute that can wait. A model embeds it.
type waitModel struct {
	common
	Wait types.Bool `tfsdk:"wait"`
}

func (m *waitModel) waits() bool { return m.Wait.IsNull() || m.Wait.ValueBool() }

// await waits until what it follows is ready, and reports the result with its status, if the action waits.
func (m *waitModel) await(ctx context.Context, c *call, f observe.Follow, result string) error {
	if !m.waits() {
		return nil
	}
	verdict, err := f.Wait(ctx, c.cluster)
	if err == nil {
		c.progress("%s: %s.", result, verdict.Message)
	}
	return err
}

// operation is an action on one object, with the model M.
type operation[M any, P model[M]] struct {
	name        string // without the provider's prefix
	description string
	attributes  tf.Attributes // in addition to those of common
	timeout     time.Duration // default of the attribute timeout
	// waits describes the attribute wait of [waitModel], as "until …". It is empty for an action without it.
	waits string

	// validate checks the configuration without a cluster; values may be unknown. It may be nil.
	validate func(m *M) diag.Diagnostics
	// requires is the operation that the compute must support; "" for an action on any compute.
	requires kind.Operation
	// invoke performs the action on the compute, which is nil for an action on a node. ctx ends after the timeout or
	// when the run is interrupted. An error of the type [refusal] with a path is reported at its attribute, and any
	// other error at the one that identifies the object.
	invoke func(ctx context.Context, c *call, t *target, m *M) error
	// conclude returns the error of the action. err is that of the search for the compute or of invoke; nil after a
	// success. conclude may be nil.
	conclude func(ctx context.Context, c *call, m *M, err error) error
	// holds is why no compute may be destroyed in this run if the action fails before it has found its compute. ""
	// means that it prevents none.
	holds string

	data *tf.ProviderData // nil until the provider is configured
}

// Metadata sets the type name.
func (o *operation[M, P]) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + o.name
}

// Schema sets the schema.
func (o *operation[M, P]) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	attributes := P(new(M)).identity()
	attributes["timeout"] = tf.OptionalDuration(fmt.Sprintf("Timeout of the action, such as `30m`. Defaults to `%s`.",
		manifest.FormatDuration(o.timeout)))
	if o.waits != "" {
		attributes["wait"] = tf.OptionalBool("Whether to wait " + o.waits + ". Defaults to `true`.")
	}
	maps.Copy(attributes, o.attributes)
	resp.Schema = schema.Schema{MarkdownDescription: o.description, Attributes: map[string]schema.Attribute{}}
	for name, attribute := range attributes {
		resp.Schema.Attributes[name] = attribute
	}
}

// Configure stores the provider's data.
func (o *operation[M, P]) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	o.data = tf.DataOf(req.ProviderData, &resp.Diagnostics)
}

// ValidateConfig checks the configuration without a cluster.
func (o *operation[M, P]) ValidateConfig(
	ctx context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse,
) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if timeout := P(&m).limit(); tf.DurationOr(timeout, o.timeout) <= 0 {
		resp.Diagnostics.AddAttributeError(path.Root("timeout"), "Invalid timeout", fmt.Sprintf(
			"timeout is %q, but must be more than zero: use a duration such as \"20m\", or remove it.",
			timeout.ValueString()))
	}
	if o.validate != nil {
		resp.Diagnostics.Append(o.validate(&m)...)
	}
}

// ModifyPlan defers the action if the provider's configuration is unknown and Terraform allows it. Otherwise, Invoke
// reports that the cluster is unknown.
func (o *operation[M, P]) ModifyPlan(
	_ context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse,
) {
	if o.data != nil && o.data.Unknown && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &action.Deferred{Reason: action.DeferredReasonProviderConfigUnknown}
	}
}

// Invoke performs the action, within its timeout.
func (o *operation[M, P]) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	c := &call{send: func(message string) { resp.SendProgress(action.InvokeProgressEvent{Message: message}) }}
	defer func() {
		if resp.Diagnostics.HasError() && !c.found && o.holds != "" && o.data != nil {
			resp.Diagnostics.Append(holdWarning(o.data.Holds.Add(tf.ComputeType, "", o.holds))...)
		}
	}()
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !o.data.Configured() {
		resp.Diagnostics.AddError("Cluster not known yet",
			"The provider configuration depends on values that are still unknown, so there is no cluster to run the "+
				"action on.\n\n"+
				"Next step: Create the cluster first, for example with `-target`, and then run the action.")
		return
	}
	c.cluster, c.holds = o.data.Cluster, &o.data.Holds
	at, diags := P(&m).resolve(c)
	if resp.Diagnostics.Append(diags...); resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := tf.WithTimeLimit(ctx, tf.DurationOr(P(&m).limit(), o.timeout), "timeout")
	defer cancel()
	t, err := o.locate(ctx, c)
	if err == nil {
		err = o.invoke(ctx, c, t, &m)
	}
	if o.conclude != nil {
		err = o.conclude(ctx, c, &m, err)
	}
	if err != nil {
		resp.Diagnostics.Append(c.failure(ctx, "kt_"+o.name, at, err))
	}
	resp.Diagnostics.Append(c.warnings...)
}

// locate finds the compute, which must support the operation. It returns nil for an action on a node.
func (o *operation[M, P]) locate(ctx context.Context, c *call) (*target, error) {
	if c.name == "" {
		return nil, nil
	}
	t, err := c.locate(ctx)
	if err != nil || o.requires == "" {
		return t, err
	}
	why, instead := t.refusal(o.requires)
	if o.name != "resume" { // which starts what the autoscaler then scales
		why, instead = c.refusal(ctx, t, o.requires)
	}
	if why != "" {
		return nil, refused(fmt.Sprintf("Cannot %s %s", o.name, t), explain(why, instead))
	}
	return t, nil
}
