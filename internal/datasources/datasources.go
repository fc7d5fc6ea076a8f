// Package datasources implements the data sources of the provider: they read
// computes and the cluster, and probe endpoints.
package datasources

import (
	"context"
	"maps"
	"math"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// All returns the constructors of the data sources. The data sources of one run share the results of their probes.
func All() []func() datasource.DataSource {
	prober := &endpoint.Prober{}
	return []func() datasource.DataSource{
		constructor(source[computeModel]{name: "compute", description: computeDescription,
			attributes: computeAttributes, read: readCompute}),
		constructor(source[endpointModel]{name: "endpoint", description: endpointDescription,
			attributes: endpointAttributes,
			read: func(ctx context.Context, data *tf.ProviderData, m *endpointModel) diag.Diagnostics {
				return readEndpoint(ctx, data.Cluster, prober, m)
			}}),
		constructor(source[eventsModel]{name: "events", description: eventsDescription,
			attributes: eventsAttributes, read: readEvents}),
		constructor(source[gpusModel]{name: "gpus", description: gpusDescription, attributes: gpusAttributes,
			read: readGPUs}),
		constructor(source[imageDigestModel]{name: "image_digest", description: imageDigestDescription,
			attributes: imageDigestAttributes, read: readImageDigest, offline: true}),
		constructor(source[metricsModel]{name: "metrics", description: metricsDescription,
			attributes: metricsAttributes, read: readMetrics}),
	}
}

// source is a data source with the model M.
type source[M any] struct {
	name        string // without the provider's prefix
	description string
	attributes  func() tf.Attributes
	read        func(ctx context.Context, data *tf.ProviderData, m *M) diag.Diagnostics // completes the configuration
	offline     bool                                                                    // whether it needs no cluster

	data *tf.ProviderData // nil until the provider is configured
}

func constructor[M any](s source[M]) func() datasource.DataSource {
	return func() datasource.DataSource {
		instance := s
		return &instance
	}
}

// Metadata sets the type name.
func (s *source[M]) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + s.name
}

// Schema sets the schema.
func (s *source[M]) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: s.description, Attributes: map[string]schema.Attribute{}}
	for name, attribute := range s.attributes() {
		resp.Schema.Attributes[name] = attribute
	}
}

// Configure stores the provider's data.
func (s *source[M]) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	s.data = tf.DataOf(req.ProviderData, &resp.Diagnostics)
}

// Read reads the data source. The read is deferred until the provider's configuration is known.
func (s *source[M]) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m M
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	switch {
	case resp.Diagnostics.HasError():
	case s.offline, s.data.Configured():
		resp.Diagnostics.Append(s.read(ctx, s.data, &m)...)
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		}
	case req.ClientCapabilities.DeferralAllowed:
		resp.Deferred = &datasource.Deferred{Reason: datasource.DeferredReasonProviderConfigUnknown}
	default:
		resp.Diagnostics.AddError("Cluster not known yet",
			"The provider configuration depends on resources that this run creates, so the plan has no cluster to "+
				"read from.\n\n"+
				"Next step: Add `depends_on` with such a resource, or with a kt_compute, to the data source. "+
				"Terraform then reads it after that resource is created.")
	}
}

// readTarget resolves the compute that a data source reads. It reports an error of read at the attribute that
// identifies the compute.
func readTarget(cluster *kube.Cluster, t *tf.Target, read func(namespace, name string) error) diag.Diagnostics {
	at, diags := t.Resolve(cluster)
	if diags.HasError() {
		return diags
	}
	if err := read(t.Namespace.ValueString(), t.Name.ValueString()); err != nil {
		diags.Append(diag.WithPath(at, tf.Failure(err)))
	}
	return diags
}

// withTarget adds the attributes that identify the compute.
func withTarget(attributes tf.Attributes) tf.Attributes {
	maps.Copy(attributes, tf.TargetAttributes(tf.OptionalComputedText))
	return attributes
}

// entries returns a copy of a map. It is not null, so that expressions can iterate over it.
func entries(m map[string]string) map[string]string { return maps.Collect(maps.All(m)) }

// finite converts a number from a server to a value that Terraform can store. NaN and infinities become null, because
// Terraform cannot represent them.
func finite(number float64) types.Float64 {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return types.Float64Null()
	}
	return types.Float64Value(number)
}
