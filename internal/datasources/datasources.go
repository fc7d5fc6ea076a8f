// Package datasources implements the data sources of the provider: they read
// computes and the cluster, and probe endpoints.
package datasources

import (
	"context"
	"maps"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
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

// withTarget adds the attributes that identify the compute.
func withTarget(attributes map[string]schema.Attribute) map[string]schema.Attribute {
	maps.Copy(attributes, tf.TargetAttributes(
		func(description string, validators ...validator.String) schema.Attribute {
			return schema.StringAttribute{
				Optional: true, Computed: true, Validators: validators, MarkdownDescription: description,
			}
		}))
	return attributes
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
