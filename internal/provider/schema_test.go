package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

func serve(t *testing.T) tfprotov6.ProviderServer {
	t.Helper()
	server, err := providerserver.NewProtocol6WithError(New(t.Context(), "test", config.Env{}, nil)())()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func TestSchemasAreValid(t *testing.T) {
	t.Parallel()
	resp, err := serve(t).GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		t.Errorf("%s: %s %s", d.Severity, d.Summary, d.Detail)
	}
	if len(resp.Provider.Block.Attributes) == 0 || resp.ResourceSchemas["kt_compute"] == nil {
		t.Fatalf("provider %v, resources %v", resp.Provider.Block, resp.ResourceSchemas)
	}
	requireDescriptions(t, "provider", resp.Provider.Block)
	actions := map[string]*tfprotov6.Schema{}
	for name, action := range resp.ActionSchemas {
		actions[name] = action.Schema
	}
	for group, schemas := range map[string]map[string]*tfprotov6.Schema{
		"resource": resp.ResourceSchemas, "data source": resp.DataSourceSchemas,
		"ephemeral resource": resp.EphemeralResourceSchemas, "list resource": resp.ListResourceSchemas,
		"action": actions,
	} {
		if len(schemas) == 0 {
			t.Errorf("no %s", group)
		}
		for name, schema := range schemas {
			requireDescriptions(t, group+" "+name, schema.Block)
		}
	}
	if len(resp.Functions) == 0 {
		t.Error("no function")
	}
	for name, function := range resp.Functions {
		if function.Summary == "" || function.Description == "" {
			t.Errorf("function %s has no description", name)
		}
		for _, parameter := range function.Parameters {
			if parameter.Description == "" {
				t.Errorf("parameter %s of function %s has no description", parameter.Name, name)
			}
		}
	}
}

func requireDescriptions(t *testing.T, name string, block *tfprotov6.SchemaBlock) {
	t.Helper()
	if block.Description == "" {
		t.Errorf("%s has no description", name)
	}
	requireAttributes(t, name, block.Attributes)
	for _, nested := range block.BlockTypes {
		requireDescriptions(t, name+"."+nested.TypeName, nested.Block)
	}
}

func requireAttributes(t *testing.T, name string, attributes []*tfprotov6.SchemaAttribute) {
	t.Helper()
	for _, attribute := range attributes {
		name := name + "." + attribute.Name
		// terraform-plugin-framework-timeouts describes only the nested attributes
		if attribute.Description == "" && attribute.Name != "timeouts" {
			t.Errorf("%s has no description", name)
		}
		if attribute.NestedType != nil {
			requireAttributes(t, name, attribute.NestedType.Attributes)
		}
	}
}

func TestValidationReportsInvalidProviderBlocks(t *testing.T) {
	t.Parallel()
	exec := func(version, command string) tftypes.Value {
		return tftypes.NewValue(execType(), map[string]tftypes.Value{
			"api_version": str(version), "command": str(command), "args": listOf(), "env": dict(nil),
		})
	}
	for name, test := range map[string]struct {
		block     block
		attribute string // "" if the block is valid
		want      string
	}{
		"an empty block": {nil, "", ""},
		"a host": {block{"host": str("https://h"), "client_certificate": str("given"),
			"client_key": str("given")}, "", ""},
		"a key in the environment": {block{"host": str("https://h"), "client_certificate": str("given")}, "",
			""},
		"both config_path(s)": {block{"config_path": str("a"), "config_paths": listOf("b")}, "config_path",
			`"config_paths" cannot be specified when "config_path" is specified`},
		"an uppercase namespace": {block{"namespace": str("ML")}, "namespace", "the name of a namespace"},
		"a bad install_namespace": {block{"install_namespace": str("a/b")}, "install_namespace",
			"the name of a namespace"},
		"a launch_timeout without a unit": {block{"launch_timeout": str("ten")}, "launch_timeout", "is not a duration"},
		"a negative rate":                 {block{"client_qps": number(-1)}, "client_qps", "at least 0"},
		"a burst without a rate": {block{"client_burst": number(5)}, "client_burst",
			`"client_qps" must be specified`},
		"a burst of zero": {block{"client_qps": number(1), "client_burst": number(0)}, "client_burst",
			"at least 1"},
		"a bad label key": {block{"default_labels": dict(map[string]string{"a b": "c"})},
			`default_labels["a b"]`, "the key of a label or annotation"},
		"a bad label value": {block{"default_labels": dict(map[string]string{"a": "b c"})},
			`default_labels["a"]`, "the value of a label"},
		"a bad annotation key": {block{"default_annotations": dict(map[string]string{"a/b/c": "d"})},
			`default_annotations["a/b/c"]`, "the key of a label or annotation"},
		"an old exec version": {block{"exec": exec("client.authentication.k8s.io/v1alpha1", "aws")},
			"exec.api_version", "v1beta1"},
		"no exec command": {block{"exec": exec("client.authentication.k8s.io/v1", "")}, "exec.command",
			"at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw := test.block.config(t).Raw
			config, err := tfprotov6.NewDynamicValue(raw.Type(), raw)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := serve(t).ValidateProviderConfig(t.Context(),
				&tfprotov6.ValidateProviderConfigRequest{Config: &config})
			if err != nil {
				t.Fatal(err)
			}
			if test.attribute == "" {
				if len(resp.Diagnostics) > 0 {
					t.Errorf("got %s, want none", resp.Diagnostics[0].Detail)
				}
				return
			}
			if len(resp.Diagnostics) != 1 {
				t.Fatalf("%d diagnostics, want 1: %v", len(resp.Diagnostics), resp.Diagnostics)
			}
			got := resp.Diagnostics[0]
			if got.Severity != tfprotov6.DiagnosticSeverityError || pathOf(got.Attribute) != test.attribute ||
				!strings.Contains(got.Detail, test.want) {
				t.Errorf("got %s at %s: %s; want an error at %s that contains %q", got.Severity, pathOf(got.Attribute),
					got.Detail, test.attribute, test.want)
			}
		})
	}
}

func pathOf(path *tftypes.AttributePath) string {
	var text strings.Builder
	for _, step := range path.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			text.WriteString("." + string(step))
		case tftypes.ElementKeyString:
			text.WriteString(`["` + string(step) + `"]`)
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}
