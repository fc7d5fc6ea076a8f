package compute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// Manifests returns the attribute manifests that the plan of a new compute has without a cluster, a provider block and
// an environment. config is an object with the arguments of kt_compute; missing ones are null. It validates and plans
// the resource with the methods that Terraform calls, so that it cannot differ from them.
//
// It returns false if config contains an unknown value. The registration with Kubetorch is not included, because it
// depends on the cluster. An error names the argument of the resource.
func Manifests(ctx context.Context, config tftypes.Value) (manifests map[string]string, known bool, err error) {
	typ := typeOf(ctx)
	object, err := decode.Coerce(config, typ)
	if err != nil {
		return nil, false, err
	}
	if !object.IsFullyKnown() {
		return nil, false, nil
	}
	encoded, err := tfprotov6.NewDynamicValue(typ, object)
	if err != nil {
		return nil, false, fmt.Errorf("encoding the object: %w", err)
	}
	planned, err := planOffline(ctx, &encoded)
	if err != nil {
		return nil, false, err
	}
	state, err := planned.Unmarshal(typ)
	if err != nil {
		return nil, false, fmt.Errorf("decoding the plan: %w", err)
	}
	return plannedManifests(ctx, state)
}

// planOffline validates and plans a new compute.
func planOffline(ctx context.Context, config *tfprotov6.DynamicValue) (*tfprotov6.DynamicValue, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := providerserver.NewProtocol6(offlineProvider{ctx})()
	empty, err := tfprotov6.NewDynamicValue(tftypes.Object{}, tftypes.NewValue(tftypes.Object{},
		map[string]tftypes.Value{}))
	if err != nil {
		return nil, fmt.Errorf("encoding the provider block: %w", err)
	}
	configured, err := server.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{Config: &empty})
	if err != nil {
		return nil, err
	}
	validated, err := server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{
		TypeName: tf.ComputeType, Config: config,
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	if err != nil {
		return nil, err
	}
	if err := firstError(slices.Concat(configured.Diagnostics, validated.Diagnostics)); err != nil {
		return nil, err
	}
	none, err := tfprotov6.NewDynamicValue(typeOf(ctx), tftypes.NewValue(typeOf(ctx), nil))
	if err != nil {
		return nil, fmt.Errorf("encoding the prior state: %w", err)
	}
	planned, err := server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: tf.ComputeType, Config: config, ProposedNewState: config, PriorState: &none,
	})
	if err != nil {
		return nil, err
	}
	return planned.PlannedState, firstError(planned.Diagnostics)
}

// firstError returns the first diagnostic that is an error, with the path of its attribute.
func firstError(diags []*tfprotov6.Diagnostic) error {
	for _, d := range diags {
		if d.Severity != tfprotov6.DiagnosticSeverityError {
			continue
		}
		text := d.Summary + ": " + d.Detail
		if at := decode.PathText(d.Attribute); at != "" {
			text = at + ": " + text
		}
		return errors.New(text)
	}
	return nil
}

// plannedManifests returns the known elements of the attribute manifests, with the hidden values: Terraform marks
// the result of a function as sensitive if its argument is.
func plannedManifests(ctx context.Context, state tftypes.Value) (map[string]string, bool, error) {
	var m model
	if diags := (&tfsdk.Plan{Raw: state, Schema: described()}).Get(ctx, &m); diags.HasError() {
		return nil, false, errors.New(diags[0].Detail())
	}
	if m.Manifests.IsUnknown() {
		return nil, false, errors.New("the objects cannot be rendered without a cluster")
	}
	if diags := m.Reveal(); diags.HasError() {
		return nil, false, errors.New(diags[0].Detail())
	}
	objects, err := m.objects()
	if err != nil {
		return nil, false, err
	}
	return tf.Texts(objects.Value()), true, nil
}

// typeOf returns the type of the resource.
func typeOf(ctx context.Context) tftypes.Type { return described().Type().TerraformType(ctx) }

// described returns the schema of the resource.
func described() resourceschema.Schema {
	return resourceschema.Schema{Attributes: attributes()}
}

// offlineProvider has only this resource, default settings, and no cluster.
type offlineProvider struct {
	ctx context.Context //nolint:containedctx // the lifetime of the cluster, unlike the context of Configure
}

func (offlineProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "kt"
}

func (offlineProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{}
}

func (p offlineProvider) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = &tf.ProviderData{
		Run:       run.New(p.ctx, kube.NewCluster(p.ctx, config.Config{Namespace: "default"}), nil),
		Defaults:  tf.DefaultSettings(),
		Revisions: manifest.Revisions(),
	}
}

func (offlineProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{New}
}

func (offlineProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }
