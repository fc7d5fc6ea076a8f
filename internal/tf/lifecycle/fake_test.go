package lifecycle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

const (
	applyTime   = time.Hour
	deleteTime  = 4 * time.Hour
	waitTimeout = 20 * time.Minute
)

type model struct {
	lifecycle.Common

	Size types.String `tfsdk:"size"`
	Key  types.String `tfsdk:"key"` // write-only
}

type privateState struct {
	Visits int `json:"visits"`
}

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

// hooks records which hooks were called. A hook that is not set does nothing.
type hooks struct {
	called []string

	refresh, imported func(*reading) error
	plan              func(*planning)
	apply             func(context.Context, *writing)
	remove            func(context.Context, *deleting)
	validate          func(*model) diag.Diagnostics
	generate          func(*model)

	configure func(*thingResource) // changes the resource
}

func (h *hooks) Refresh(_ context.Context, r *reading) error {
	h.called = append(h.called, "refresh")
	if h.refresh == nil {
		return nil
	}
	return h.refresh(r)
}

func (h *hooks) Import(_ context.Context, r *reading) error {
	h.called = append(h.called, "import")
	if h.imported == nil {
		return nil
	}
	return h.imported(r)
}

func (h *hooks) Plan(_ context.Context, p *planning) {
	h.called = append(h.called, "plan")
	if h.plan != nil {
		h.plan(p)
	}
}

func (h *hooks) Apply(ctx context.Context, w *writing) {
	h.called = append(h.called, "apply")
	if h.apply != nil {
		h.apply(ctx, w)
	}
}

func (h *hooks) Delete(ctx context.Context, d *deleting) {
	h.called = append(h.called, "delete")
	if h.remove != nil {
		h.remove(ctx, d)
	}
}

func (h *hooks) Validate(_ context.Context, m *model, _ lifecycle.Validation) diag.Diagnostics {
	if h.validate == nil {
		return nil
	}
	return h.validate(m)
}

func (h *hooks) Generate(_ context.Context, m *model) {
	if h.generate != nil {
		h.generate(m)
	}
}

func (h *hooks) WaitTimeout(*tf.ProviderData, *model) time.Duration { return waitTimeout }

type thingResource = lifecycle.Resource[model, privateState]

// attributes returns the schema of kt_thing.
func attributes() map[string]schema.Attribute {
	computed := schema.StringAttribute{Computed: true}
	flag := schema.BoolAttribute{Optional: true}
	return lifecycle.WithCommon(map[string]schema.Attribute{
		"name":      schema.StringAttribute{Required: true},
		"namespace": schema.StringAttribute{Optional: true, Computed: true},
		"size":      schema.StringAttribute{Optional: true}, "adopt_existing": flag, "deletion_protection": flag,
		"key": schema.StringAttribute{Optional: true, WriteOnly: true},
		"timeouts": timeouts.Attributes(context.Background(),
			timeouts.Opts{Create: true, Update: true, Delete: true}),
		"id": computed, "uid": computed,
		"labels": tf.OptionalTextMap(""), "annotations": tf.OptionalTextMap(""),
		"manifests": schema.MapAttribute{Computed: true, ElementType: types.StringType},
	}, "thing", "the objects", "spec.args")
}

// fakeProvider has one resource type, kt_thing.
type fakeProvider struct {
	data  *tf.ProviderData
	hooks *hooks
}

func (*fakeProvider) Metadata(context.Context, provider.MetadataRequest, *provider.MetadataResponse) {
}

func (*fakeProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (p *fakeProvider) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = p.data
}

func (*fakeProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (p *fakeProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource {
		out := &thingResource{
			Kind: lifecycle.Kind{
				Type: "kt_thing", Noun: "thing", Example: "x", Attributes: attributes, Apply: applyTime,
				Delete: deleteTime,
			},
			Hooks: p.hooks,
		}
		if p.hooks.configure != nil {
			p.hooks.configure(out)
		}
		return out
	}}
}

// server is a provider that Terraform calls.
type server struct {
	tfprotov6.ProviderServer

	t     *testing.T
	state tftypes.Type
	data  *tf.ProviderData
}

// inCluster returns a provider that is configured for the cluster with a UID.
func inCluster(t *testing.T, uid string, h *hooks) *server {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		const namespace = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"uid":%q,` +
			`"name":"kube-system"}}`
		_, _ = fmt.Fprintf(w, namespace, uid)
	}))
	t.Cleanup(api.Close)
	return configured(t, dataAt(t, api.URL), h)
}

// clusterAt returns the client of a cluster whose default namespace is ml.
func clusterAt(t *testing.T, url string) *kube.Cluster {
	t.Helper()
	settings := config.Config{Host: url, Token: "x", Namespace: "ml",
		Env: config.Env{Getenv: func(string) string { return "" }}}
	return kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
}

// dataAt returns the data of a provider that is configured for that cluster.
func dataAt(t *testing.T, url string) *tf.ProviderData {
	t.Helper()
	return &tf.ProviderData{Run: run.New(t.Context(), clusterAt(t, url), nil)}
}

// misconfigured returns a provider with a kubeconfig that does not exist.
func misconfigured(t *testing.T, h *hooks) *server {
	t.Helper()
	return configured(t, misconfiguredData(t), h)
}

func misconfiguredData(t *testing.T) *tf.ProviderData {
	t.Helper()
	settings := config.Config{ConfigPaths: []string{"/none"},
		Env: config.Env{Getenv: func(string) string { return "" }}}
	return &tf.ProviderData{Run: run.New(t.Context(), kube.NewCluster(t.Context(), settings), nil)}
}

func configured(t *testing.T, data *tf.ProviderData, h *hooks) *server {
	t.Helper()
	protocol, err := providerserver.NewProtocol6WithError(&fakeProvider{data: data, hooks: h})()
	if err != nil {
		t.Fatal(err)
	}
	described, err := protocol.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{ProviderServer: protocol, t: t, data: data, state: described.ResourceSchemas["kt_thing"].ValueType()}
	empty := tftypes.Object{}
	emptyConfig, err := tfprotov6.NewDynamicValue(empty, tftypes.NewValue(empty, map[string]tftypes.Value{}))
	if err != nil {
		t.Fatal(err)
	}
	configuration := &tfprotov6.ConfigureProviderRequest{Config: &emptyConfig}
	if resp, err := s.ConfigureProvider(t.Context(), configuration); err != nil || len(resp.Diagnostics) > 0 {
		t.Fatal(err, resp)
	}
	return s
}

// value returns a state, plan or configuration. A nil attribute is null, and a string or a boolean is known.
func (s *server) value(attributes map[string]any) *tfprotov6.DynamicValue {
	s.t.Helper()
	object, _ := s.state.(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, attributeType := range object.AttributeTypes {
		values[name] = tftypes.NewValue(attributeType, attributes[name])
	}
	return s.dynamic(tftypes.NewValue(s.state, values))
}

// null returns the state of no resource, or the plan of a destruction.
func (s *server) null() *tfprotov6.DynamicValue { return s.dynamic(tftypes.NewValue(s.state, nil)) }

func (s *server) dynamic(value tftypes.Value) *tfprotov6.DynamicValue {
	s.t.Helper()
	dynamic, err := tfprotov6.NewDynamicValue(s.state, value)
	if err != nil {
		s.t.Fatal(err)
	}
	return &dynamic
}

// text returns a string attribute of a response; "" if it is null or unknown, or if the response is null.
func (s *server) text(value *tfprotov6.DynamicValue, attribute string) string {
	s.t.Helper()
	decoded, err := value.Unmarshal(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	var text string
	if decoded.IsNull() || decoded.As(&attributes) != nil || !attributes[attribute].IsKnown() {
		return ""
	}
	_ = attributes[attribute].As(&text) // null stays ""
	return text
}

func (s *server) isNull(value *tfprotov6.DynamicValue) bool {
	s.t.Helper()
	decoded, err := value.Unmarshal(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	return decoded.IsNull()
}

// inState returns the attributes of a resource in state, with changes.
func inState(changes map[string]any) map[string]any {
	attributes := map[string]any{
		"name": "x", "namespace": "ml", "id": "ml/x", "uid": "u", "size": "1", "manifests": map[string]tftypes.Value{},
	}
	maps.Copy(attributes, changes)
	return attributes
}

// private returns the private state of a resource, as JSON by key.
func private(t *testing.T, values map[string]string) []byte {
	t.Helper()
	raw := map[string][]byte{}
	for key, value := range values {
		raw[key] = []byte(value)
	}
	data, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// privateValue returns one value of private state, or "".
func privateValue(t *testing.T, data []byte, key string) string {
	t.Helper()
	values := map[string][]byte{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &values); err != nil {
			t.Fatal(err)
		}
	}
	return string(values[key])
}

// errorSummary returns the summary of the only error, or "".
func errorSummary(t *testing.T, diagnostics []*tfprotov6.Diagnostic) string {
	t.Helper()
	summary := ""
	for _, d := range diagnostics {
		if d.Severity != tfprotov6.DiagnosticSeverityError {
			continue
		}
		if summary != "" {
			t.Errorf("a second error: %s: %s", d.Summary, d.Detail)
		}
		summary = d.Summary
	}
	return summary
}
