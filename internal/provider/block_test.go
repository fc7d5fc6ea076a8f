package provider

import (
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	frameworkprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// block is a provider block. Missing attributes are null.
type block map[string]tftypes.Value

func str(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

func listOf(items ...string) tftypes.Value {
	values := make([]tftypes.Value, len(items))
	for i, item := range items {
		values[i] = str(item)
	}
	return tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, values)
}

func dict(items map[string]string) tftypes.Value {
	values := map[string]tftypes.Value{}
	for key, item := range items {
		values[key] = str(item)
	}
	return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, values)
}

func boolean(b bool) tftypes.Value { return tftypes.NewValue(tftypes.Bool, b) }

func number(n float64) tftypes.Value { return tftypes.NewValue(tftypes.Number, n) }

func plugin(args, env tftypes.Value) tftypes.Value {
	return tftypes.NewValue(execType(), map[string]tftypes.Value{
		"api_version": str("client.authentication.k8s.io/v1"), "command": str("aws"), "args": args, "env": env,
	})
}

func execType() tftypes.Object {
	return tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"api_version": tftypes.String, "command": tftypes.String,
		"args": tftypes.List{ElementType: tftypes.String}, "env": tftypes.Map{ElementType: tftypes.String},
	}}
}

func variables(vars map[string]string) config.Env {
	return config.Env{Getenv: func(name string) string { return vars[name] }}
}

// config is the block as Terraform sends it.
func (b block) config(t *testing.T) tfsdk.Config {
	t.Helper()
	var schema frameworkprovider.SchemaResponse
	(&kt{}).Schema(t.Context(), frameworkprovider.SchemaRequest{}, &schema)
	object, ok := schema.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the type of the provider's schema is not an object")
	}
	values := map[string]tftypes.Value{}
	for name, typ := range object.AttributeTypes {
		values[name] = tftypes.NewValue(typ, nil)
	}
	maps.Copy(values, b)
	return tfsdk.Config{Raw: tftypes.NewValue(object, values), Schema: schema.Schema}
}

func (b block) model(t *testing.T) model {
	t.Helper()
	var m model
	if diags := b.config(t).Get(t.Context(), &m); diags.HasError() {
		t.Fatal(diags)
	}
	return m
}

func (b block) configure(t *testing.T, env config.Env) (*tf.ProviderData, diag.Diagnostics) {
	t.Helper()
	var resp frameworkprovider.ConfigureResponse
	(&kt{ctx: t.Context(), version: "test", env: env}).Configure(t.Context(),
		frameworkprovider.ConfigureRequest{Config: b.config(t)}, &resp)
	data, ok := resp.ResourceData.(*tf.ProviderData)
	if !ok || resp.DataSourceData != any(data) || resp.EphemeralResourceData != any(data) {
		t.Fatalf("resources, data sources and ephemeral resources got %v, %v and %v, want the same data",
			resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData)
	}
	return data, resp.Diagnostics
}

// everyVariable sets each KUBE_* variable to a value that names it.
func everyVariable() map[string]string {
	return map[string]string{
		"KUBE_HOST": "kube-host", "KUBE_TOKEN": "kube-token", "KUBE_CONFIG_PATH": "kube-config-path",
		"KUBE_CONFIG_PATHS": "kube-config-paths:second", "KUBE_CTX": "kube-ctx", "KUBE_CTX_CLUSTER": "kube-ctx-cluster",
		"KUBE_CTX_AUTH_INFO": "kube-ctx-auth-info", "KUBE_CLUSTER_CA_CERT_DATA": "kube-ca",
		"KUBE_CLIENT_CERT_DATA": "kube-cert", "KUBE_CLIENT_KEY_DATA": "kube-key", "KUBE_INSECURE": "true",
		"KUBE_TLS_SERVER_NAME": "kube-tls-server-name", "KUBE_PROXY_URL": "kube-proxy-url",
		"KT_NAMESPACE": "kt-namespace",
	}
}
