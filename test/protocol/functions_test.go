package protocol_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"sigs.k8s.io/yaml"
)

// parityConfigs returns the inputs of the parity cases as arguments of kt_compute.
func parityConfigs(t *testing.T) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "manifest", "testdata", "parity.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Base  map[string]any `json:"base"`
		Cases []struct {
			Name  string         `json:"name"`
			Input map[string]any `json:"input"`
		} `json:"cases"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, c := range file.Cases {
		config := maps.Clone(c.Input)
		if _, named := config["name"]; !named {
			config["name"] = "svc"
		}
		if level, ok := config["logging_level"]; ok {
			config["logging_config"] = map[string]any{"level": level}
			delete(config, "logging_level")
		}
		if timeout, ok := config["launch_timeout"]; ok {
			config["launch_timeout"] = fmt.Sprint(timeout)
		}
		out["parity: "+c.Name] = config
	}
	return out
}

// otherConfigs are arguments that the parity cases lack.
const otherConfigs = `
defaults: {name: a}
namespace: {name: a, namespace: ml}
own server: {name: a, image: "vllm:1", command: [serve], args: [--x], port: 8000, health_path: /health}
selector: {name: a, selector: {app: b}}
endpoint: {name: a, endpoint: {url: "http://a:80"}}
suspended: {name: a, suspend: true, replicas: 3}
autoscaled by CPU: {name: a, autoscale: {metric: cpu, autoscaler_class: hpa.autoscaling.knative.dev, max_scale: 3}}
ray: {name: a, gpus: 1, distribute: {type: ray, workers: 3}}
skytorch: {name: a, gpus: 1, runtime: skytorch}
kpu: {name: a, runtime: kpu}
budget: {name: a, replicas: 3, pod_disruption_budget: {max_unavailable: "1"}}
exposed: {name: a, expose: {hosts: [a.example.com]}}
image ref: {name: a, image_ref: {image: "x:1", setup: {config_map: c, digest: d, python_path: /p}}}
versions: {name: a, kubetorch_version: 0.4.0, renderer_revision: 1}
manifest: {name: a, manifest: "{kind: CronJob, apiVersion: batch/v1, spec: {schedule: '@daily'}}"}
custom: {name: a, pod_template_path: spec.template, manifest: "{kind: Rollout, apiVersion: argoproj.io/v1alpha1, spec:
  {template: {spec: {containers: [{name: kubetorch, image: x}]}}}}"}
template: {name: a, service_template: '{"spec":{"minReadySeconds":5}}', tolerations: [{key: a, operator: Exists}]}
`

func TestManifestsFunctionEqualsThePlan(t *testing.T) {
	t.Parallel()
	var others map[string]map[string]any
	if err := yaml.Unmarshal([]byte(otherConfigs), &others); err != nil {
		t.Fatal(err)
	}
	configs := parityConfigs(t)
	maps.Copy(configs, others)
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serveInMode(t, "off")
			o.configure(t, withoutCluster)
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			object := jsonConfig(t, o.types["kt_compute"], string(text))
			want := o.plannedManifests(t, object)
			variables, _ := config["env_vars"].(map[string]any)
			for name, value := range variables {
				for key, text := range want {
					want[key] = strings.ReplaceAll(text, "(env_vars."+name+")", fmt.Sprint(value))
				}
			}
			// The function ignores attributes that are null, and accepts an object without them.
			for kind, argument := range map[string]tftypes.Value{"complete": object, "sparse": sparse(t, object)} {
				got := o.manifestsFunction(t, argument)
				if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
					t.Errorf("%s object: the plan (-) and the function (+) differ:\n%s", kind, diff)
				}
			}
		})
	}
}

// A sensitive variable in env_vars would be hidden there, and shown in manifests.
func TestManifestsOfAPlanRepeatNoValueOfEnvVars(t *testing.T) {
	t.Parallel()
	const canary = "canary-of-a-token"
	var configs map[string]map[string]any
	if err := yaml.Unmarshal([]byte(otherConfigs), &configs); err != nil {
		t.Fatal(err)
	}
	maps.Copy(configs, parityConfigs(t))
	for name, config := range configs {
		if config["selector"] != nil || config["endpoint"] != nil {
			continue // has no pods
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serveInMode(t, "off")
			o.configure(t, withoutCluster)
			variables := map[string]any{"TOKEN": canary, "EXTENDED": "$HOME/" + canary, "NUMBER": "1"}
			if config["command"] == nil && config["runtime"] == nil {
				variables["PATH"] = "$PATH:/" + canary // in the startup script only
			}
			config["env_vars"] = variables
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			object := jsonConfig(t, o.types["kt_compute"], string(text))
			shown := 0
			for key, text := range o.plannedManifests(t, object) {
				if strings.Contains(text, canary) {
					t.Errorf("%s contains the value: %s", key, text)
				}
				shown += strings.Count(text, `"(env_vars.TOKEN)"`)
			}
			rendered := fmt.Sprint(o.manifestsFunction(t, object))
			if count := strings.Count(rendered, `"`+canary+`"`); shown == 0 || count != shown ||
				strings.Contains(rendered, "(env_vars.") {
				t.Errorf("the plan contains %d references, and the function %d values:\n%s", shown, count, rendered)
			}
		})
	}
}

// withoutCluster is a provider block that is empty, except for the namespace, which would be unknown without a
// kubeconfig.
const withoutCluster = `{"namespace": "default"}`

// configure configures the provider with a block in JSON.
func (o offline) configure(tb testing.TB, block string) {
	tb.Helper()
	config := dynamicValue(tb, o.provider, jsonConfig(tb, o.provider, block))
	resp, err := o.server.ConfigureProvider(tb.Context(), &tfprotov6.ConfigureProviderRequest{Config: config})
	if err != nil || len(resp.Diagnostics) > 0 {
		tb.Fatal(err, resp)
	}
}

// plannedManifests returns the attribute manifests in the plan of a new compute, without unknown elements.
func (o offline) plannedManifests(t *testing.T, config tftypes.Value) map[string]string {
	t.Helper()
	typ := o.types["kt_compute"]
	encoded := dynamicValue(t, typ, config)
	resp, err := o.server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: "kt_compute", Config: encoded, ProposedNewState: encoded,
		PriorState: dynamicValue(t, typ, tftypes.NewValue(typ, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			t.Fatalf("%s: %s", d.Summary, d.Detail)
		}
	}
	state, err := resp.PlannedState.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	if err := state.As(&attributes); err != nil {
		t.Fatal(err)
	}
	return knownTexts(t, attributes["manifests"])
}

func (o offline) manifestsFunction(t *testing.T, config tftypes.Value) map[string]string {
	t.Helper()
	argument := dynamicValue(t, tftypes.DynamicPseudoType, config)
	resp, err := o.server.CallFunction(t.Context(), &tfprotov6.CallFunctionRequest{
		Name: "manifests", Arguments: []*tfprotov6.DynamicValue{argument},
	})
	if err != nil || resp.Error != nil {
		t.Fatal(err, resp.Error)
	}
	result, err := resp.Result.Unmarshal(tftypes.Map{ElementType: tftypes.String})
	if err != nil {
		t.Fatal(err)
	}
	return knownTexts(t, result)
}

func dynamicValue(tb testing.TB, typ tftypes.Type, value tftypes.Value) *tfprotov6.DynamicValue {
	tb.Helper()
	encoded, err := tfprotov6.NewDynamicValue(typ, value)
	if err != nil {
		tb.Fatal(err)
	}
	return &encoded
}

func knownTexts(t *testing.T, of tftypes.Value) map[string]string {
	t.Helper()
	var elements map[string]tftypes.Value
	if err := of.As(&elements); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for key, element := range elements {
		var text string
		if element.IsKnown() && element.As(&text) == nil {
			out[key] = text
		}
	}
	return out
}

// sparse returns an object without the attributes that are null.
func sparse(t *testing.T, object tftypes.Value) tftypes.Value {
	t.Helper()
	var attributes map[string]tftypes.Value
	if err := object.As(&attributes); err != nil {
		t.Fatal(err)
	}
	types := map[string]tftypes.Type{}
	attributes = maps.Clone(attributes)
	maps.DeleteFunc(attributes, func(_ string, value tftypes.Value) bool { return value.IsNull() })
	for name, value := range attributes {
		types[name] = value.Type()
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, attributes)
}
