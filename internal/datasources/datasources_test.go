package datasources

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"google.golang.org/grpc"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// read reads a data source whose configuration sets only the name.
func read(
	ctx context.Context, t *testing.T, source datasource.DataSource, data *tf.ProviderData, deferral bool,
) *datasource.ReadResponse {
	t.Helper()
	var described datasource.SchemaResponse
	source.Schema(ctx, datasource.SchemaRequest{}, &described)
	if configurable, ok := source.(datasource.DataSourceWithConfigure); ok {
		configurable.Configure(ctx, datasource.ConfigureRequest{ProviderData: data}, &datasource.ConfigureResponse{})
	}
	req := datasource.ReadRequest{
		Config:             tfsdk.Config{Schema: described.Schema, Raw: configWithName(ctx, described.Schema)},
		ClientCapabilities: datasource.ReadClientCapabilities{DeferralAllowed: deferral},
	}
	resp := &datasource.ReadResponse{State: tfsdk.State{Schema: described.Schema}}
	source.Read(ctx, req, resp)
	return resp
}

// configWithName returns a configuration that sets only the name, if there is one.
func configWithName(ctx context.Context, s schema.Schema) tftypes.Value {
	all, _ := s.Type().TerraformType(ctx).(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, of := range all.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
	}
	if _, ok := values["name"]; ok {
		values["name"] = tftypes.NewValue(tftypes.String, "trainer")
	}
	return tftypes.NewValue(all, values)
}

func TestDataSourcesDeferReadsWhileTheClusterIsUnknown(t *testing.T) {
	t.Parallel()
	for _, construct := range All() {
		if _, ok := construct().(*source[imageDigestModel]); ok {
			continue // it needs no cluster
		}
		var meta datasource.MetadataResponse
		construct().Metadata(t.Context(), datasource.MetadataRequest{ProviderTypeName: "kt"}, &meta)
		t.Run(meta.TypeName, func(t *testing.T) {
			t.Parallel()
			unknown := &tf.ProviderData{Unknown: true}
			resp := read(t.Context(), t, construct(), unknown, true)
			if resp.Deferred == nil || resp.Deferred.Reason != datasource.DeferredReasonProviderConfigUnknown ||
				resp.Diagnostics.HasError() {
				t.Errorf("with deferral: %v and %v", resp.Deferred, resp.Diagnostics)
			}
			resp = read(t.Context(), t, construct(), unknown, false)
			if resp.Deferred != nil || !resp.Diagnostics.HasError() ||
				!strings.Contains(resp.Diagnostics[0].Detail(), "depends_on") {
				t.Errorf("without deferral: %v and %v", resp.Deferred, resp.Diagnostics)
			}
		})
	}
}

func TestFailuresToReadMetricsNameTheNextStep(t *testing.T) {
	t.Parallel()
	for class, want := range map[tensor.Class][]string{
		tensor.TimedOut:    {"timeout", "did not respond within 30s", "increase `timeout`"},
		tensor.Unreachable: {"via", "cannot be reached at pool:50051: broken", "Check that its pod is ready"},
		tensor.Refused:     {"id", "The server of ml/pool: broken", "Read its log"},
	} {
		err := &tensor.Error{Op: "read metrics", Target: "pool:50051", Class: class, Err: errors.New("broken")}
		got := metricsFailure("ml/pool", path.Root("id"), 30*time.Second, err)
		placed, ok := got.(diag.DiagnosticWithPath)
		if !ok || placed.Path().String() != want[0] {
			t.Errorf("%v is not reported at %s: %v", class, want[0], got)
		}
		for _, text := range want[1:] {
			if !strings.Contains(got.Detail(), text) {
				t.Errorf("%v: %s; want %s", class, got.Detail(), text)
			}
		}
	}
}

func TestAFailedConnectionIsReportedAsThat(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := listener.Addr().String()
	if err := listener.Close(); err != nil { // nothing listens there
		t.Fatal(err)
	}
	for name, timeout := range map[string]time.Duration{"in time": time.Minute, "at the timeout": time.Nanosecond} {
		_, err = snapshotsOf(t.Context(), endpoint.Route{Target: target}, endpoint.Security{},
			&skymetrics.GetMetricsRequest{}, timeout)
		failure := metricsFailure("ml/pool", path.Root("name"), timeout, err)
		if failure.Summary() != "Tensor server unreachable" ||
			!strings.Contains(failure.Detail(), "cannot be reached at "+target) {
			t.Errorf("%s: %s: %s", name, failure.Summary(), failure.Detail())
		}
	}
}

func TestInvalidSecurityOfAProbeIsReportedAtItsAttribute(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		security endpoint.Security
		at       path.Path
		want     string
	}{
		"no PEM": {endpoint.Security{TLS: true, CACertificate: "x"},
			path.Root("probe").AtName("tls").AtName("ca_certificate"), "file(\"ca.crt\")"},
		"no TLS": {endpoint.Security{Token: "s3cr3t"}, path.Root("probe").AtName("token"), "direct 10.0.0.1:50051"},
	} {
		diags := validateSecurity(path.Root("probe"), c.security, endpoint.Route{Target: "10.0.0.1:50051"})
		at, ok := diags[0].(diag.DiagnosticWithPath)
		if len(diags) != 1 || !ok || !at.Path().Equal(c.at) || !strings.Contains(at.Detail(), c.want) ||
			strings.Contains(at.Detail(), "s3cr3t") {
			t.Errorf("%s: %v", name, diags)
		}
	}
	valid := securityOf(&tlsModel{}, types.StringValue("s3cr3t"))
	if diags := validateSecurity(path.Empty(), valid, endpoint.Route{Target: "10.0.0.1:50051"}); len(diags) > 0 {
		t.Errorf("%v", diags)
	}
}

func TestDiagnosticsWithoutMetricsNameTheSetting(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	_, err = snapshotsOf(t.Context(), endpoint.Route{Target: listener.Addr().String()}, endpoint.Security{},
		&skymetrics.GetMetricsRequest{}, time.Minute)
	failure := metricsFailure("ml/pool", path.Root("name"), time.Second, err)
	if !strings.Contains(failure.Detail(), "SKYTORCH_METRICS_SOURCES") {
		t.Errorf("a server without the service: %s", failure.Detail())
	}
	for name, requested := range map[string][]string{"no sources configured": nil,
		"other sources configured": {"amd-gpu"}} {
		if warnings := sourceWarnings("ml/pool", path.Root("name"), nil, requested); len(warnings) != 1 ||
			!strings.Contains(warnings[0].Detail(), "SKYTORCH_METRICS_SOURCES") {
			t.Errorf("%s: %v", name, warnings)
		}
	}
	found := []*skymetrics.MetricsSnapshot{{}}
	if warnings := sourceWarnings("ml/pool", path.Root("name"), found, nil); len(warnings) > 0 {
		t.Errorf("a server with a source: %v", warnings)
	}
}

func TestNullElementsAreRejected(t *testing.T) {
	t.Parallel()
	null := types.StringNull()
	list := validator.ListRequest{ConfigValue: types.ListValueMust(types.StringType, []attr.Value{null})}
	entries := validator.MapRequest{ConfigValue: types.MapValueMust(types.StringType, map[string]attr.Value{"a": null})}
	checked := 0
	for _, source := range All() {
		var meta datasource.MetadataResponse
		source().Metadata(t.Context(), datasource.MetadataRequest{ProviderTypeName: "kt"}, &meta)
		var described datasource.SchemaResponse
		source().Schema(t.Context(), datasource.SchemaRequest{}, &described)
		for name, attribute := range described.Schema.Attributes {
			var rejected diag.Diagnostics
			switch attribute := attribute.(type) {
			case resourceschema.ListAttribute:
				for _, v := range attribute.Validators {
					var resp validator.ListResponse
					v.ValidateList(t.Context(), list, &resp)
					rejected.Append(resp.Diagnostics...)
				}
			case resourceschema.MapAttribute:
				for _, v := range attribute.Validators {
					var resp validator.MapResponse
					v.ValidateMap(t.Context(), entries, &resp)
					rejected.Append(resp.Diagnostics...)
				}
			default:
				continue
			}
			if !attribute.IsOptional() {
				continue
			}
			checked++
			if !rejected.HasError() {
				t.Errorf("%s.%s accepts null", meta.TypeName, name)
			}
		}
	}
	if checked < 4 {
		t.Errorf("only %d attributes checked", checked)
	}
}

func TestAbsentLabelsAreEmptyAndNotNull(t *testing.T) {
	t.Parallel()
	metrics := metricsOf([]*skymetrics.MetricsSnapshot{{Metrics: []*skymetrics.Metric{{Name: "up"}}}})
	if len(metrics) != 1 || metrics[0].Labels == nil {
		t.Errorf("%+v", metrics)
	}
}
