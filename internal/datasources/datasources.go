// Package datasources implements the data sources of the provider: they read
// computes and the cluster, and probe endpoints.
package datasources

import (
	"context"
	"maps"
	"math"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// All returns the constructors of the data sources. The data sources of one
// run share the results of their probes.
func All() []func() datasource.DataSource {
	shared := &endpoint.Prober{}
	return []func() datasource.DataSource{
		func() datasource.DataSource { return &endpointSource{prober: shared} },
		func() datasource.DataSource { return &computeSource{} },
		func() datasource.DataSource { return &metricsSource{} },
		func() datasource.DataSource { return &eventsSource{} },
		func() datasource.DataSource { return &gpusSource{} },
	}
}

// source is the common part of all data sources.
type source struct {
	data *tf.ProviderData // nil until the provider is configured
}

// Configure stores the provider's data.
func (s *source) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	data, diags := tf.DataOf(req.ProviderData)
	s.data = data
	resp.Diagnostics.Append(diags...)
}

// cluster returns the cluster to read from. It returns nil if the read is
// deferred until the provider's configuration is known, or failed.
func (s *source) cluster(req datasource.ReadRequest, resp *datasource.ReadResponse) *kube.Cluster {
	if s.data != nil && !s.data.Unknown {
		return s.data.Cluster
	}
	if req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &datasource.Deferred{Reason: datasource.DeferredReasonProviderConfigUnknown}
		return nil
	}
	resp.Diagnostics.AddError("Cluster not known yet",
		"The provider configuration depends on resources that this run creates, so the plan has no cluster to read "+
			"from.\n\n"+
			"Next step: Add `depends_on` with such a resource, or with a kt_compute, to the data source. Terraform "+
			"then reads it after that resource is created.")
	return nil
}

// Target identifies the compute that a data source reads.
type Target struct {
	ID        types.String `tfsdk:"id"`
	Name      types.String `tfsdk:"name"`
	Namespace types.String `tfsdk:"namespace"`
}

// withTarget adds the attributes that identify the compute.
func withTarget(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	maps.Copy(attributes, map[string]schema.Attribute{
		"id": schema.StringAttribute{
			Optional: true, Computed: true,
			Validators: []validator.String{computeID(), stringvalidator.ConflictsWith(path.MatchRoot("namespace"))},
			MarkdownDescription: "Compute as `namespace/name`, which is the `id` of a `kt_compute`. Exactly one of " +
				"`id` and `name` must be set. Conflicts with `namespace`.",
		},
		"name": schema.StringAttribute{
			Optional: true, Computed: true,
			Validators:          []validator.String{tf.ServiceName(), stringvalidator.ExactlyOneOf(path.MatchRoot("id"), path.MatchRoot("name"))},
			MarkdownDescription: "Name of the compute. Exactly one of `id` and `name` must be set.",
		},
		"namespace": schema.StringAttribute{
			Optional: true, Computed: true,
			Validators: []validator.String{tf.NamespaceName()},
			MarkdownDescription: "Namespace of the compute. Defaults to the namespace of the provider. Conflicts " +
				"with `id`.",
		},
	})
	return attributes
}

func computeID() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z]([-a-z0-9]*[a-z0-9])?$`), "must be namespace/name, such as ml/trainer")
}

// resolve fills in the attributes of the target, and returns the path of the
// attribute that identifies it in the configuration.
func (t *Target) resolve(cluster *kube.Cluster) (path.Path, diag.Diagnostics) {
	var diags diag.Diagnostics
	if !t.ID.IsNull() {
		namespace, name, _ := strings.Cut(t.ID.ValueString(), "/") // validated
		t.Namespace, t.Name = types.StringValue(namespace), types.StringValue(name)
		return path.Root("id"), diags
	}
	if t.Namespace.IsNull() {
		namespace, err := cluster.Namespace()
		if err != nil {
			diags.Append(failureAt(path.Root("namespace"), err))
			return path.Root("name"), diags
		}
		t.Namespace = types.StringValue(namespace)
	}
	t.ID = types.StringValue(t.Namespace.ValueString() + "/" + t.Name.ValueString())
	return path.Root("name"), diags
}

// failureAt converts an error of the cluster to a diagnostic at an attribute.
func failureAt(at path.Path, err error) diag.Diagnostic {
	failure := tf.Failure(err)
	return diag.NewAttributeErrorDiagnostic(at, failure.Summary(), failure.Detail())
}

func computedString(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func computedInt(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func computedBool(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func computedMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

// textOrNull converts "" to null.
func textOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

// finite converts a number from a server to a value that Terraform can store. NaN and infinities become null, because
// Terraform cannot represent them.
func finite(number float64) types.Float64 {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return types.Float64Null()
	}
	return types.Float64Value(number)
}
