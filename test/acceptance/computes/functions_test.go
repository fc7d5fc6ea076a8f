package computes_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/sensitive"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccFunctionExamples(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]map[string]any{
		"manifests": {"gpu_limit": "8", "objects": []any{"Deployment/ml/trainer", "Service/ml/trainer"}},
		"quantity":  {"bytes": 68719476736.0, "cores": 0.5},
		"duration":  {"seconds": 5400.0},
		// The postcondition of the resource also holds in the plan.
		"gpus_total": {"gpus": 16.0},
		"fits":       {"fits": true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := functionCLI(t, name)
			if want["fits"] != nil {
				// Other tests use the GPUs of the shared cluster.
				own := acctest.OwnCluster(t, "--node", "name=a,gpus=8,product=NVIDIA-H100-80GB-HBM3",
					"--node", "name=b,gpus=8,product=NVIDIA-H100-80GB-HBM3")
				cli.Setenv("KUBE_CONFIG_PATH", own.Kubeconfig())
			}
			cli.MustRun(t, "apply", "-auto-approve")
			cli.MustRun(t, "plan", "-detailed-exitcode")
			var outputs map[string]struct{ Value any }
			out := cli.MustRun(t, "output", "-json")
			if err := json.Unmarshal([]byte(out), &outputs); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for output, value := range want {
				if !reflect.DeepEqual(outputs[output].Value, value) {
					t.Errorf("the output %s is %v, want %v", output, outputs[output].Value, value)
				}
			}
		})
	}
}

// functionCLI returns a working directory with an example of examples/functions, and a cluster.
func functionCLI(t *testing.T, name string) *acctest.CLI {
	t.Helper()
	cli := acctest.NewAttachedCLI(t)
	text, err := os.ReadFile(filepath.Join(acctest.Root(), "examples", "functions", name, "function.tf"))
	if err != nil {
		t.Fatal(err)
	}
	cli.Write(t, string(text))
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", cluster.Namespace(t))
	return cli
}

func TestAccFunctionErrorsNameTheArgument(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		`manifests({ name = "web", gpu = 1 })`:                      `has no attribute "gpu": did you mean "gpus"?`,
		`manifests({ name = "web", replicas = "two" })`:             "replicas must be a number, but is a string.",
		`manifests({ name = "web", replicas = 1, autoscale = {} })`: "replicas",
		`quantity("4gi")`:          `did you mean "4Gi"`,
		`duration("soon")`:         "is not a duration",
		`gpus_total({ gpus = 1 })`: "name",
		`fits({ name = "web", gpus = 1 }, { products = "several" })`: "with the attribute products, a list",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewAttachedCLI(t)
			cli.Write(t, "output \"result\" {\n  value = provider::kt::"+call+"\n}\n")
			out, err := cli.Run(t, "plan")
			if text := acctest.Unwrap(out); err == nil || !strings.Contains(text, want) {
				t.Errorf("got %v, want an error with %q:\n%s", err, want, out)
			}
		})
	}
}

func TestAccFunctionsOfUnknownArgumentsAreUnknown(t *testing.T) {
	t.Parallel()
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, `
resource "terraform_data" "image" {
  input = "server:1.0"
}

locals {
  web     = { name = "web", gpus = 2, image = terraform_data.image.output }
  objects = provider::kt::manifests(local.web)
}

output "image" {
  value = jsondecode(local.objects["Deployment/default/web"]).spec.template.spec.containers[0].image
}

output "gpus" {
  value = provider::kt::gpus_total(local.web)
}
`)
	out := cli.MustRun(t, "apply", "-auto-approve")
	acctest.ExpectText(t, out, "+ image = (known after apply)", "+ gpus = (known after apply)", `image = "server:1.0"`,
		"gpus = 2")
}

// terraform-plugin-go writes the data of requests to files, if this variable is set.
const protocolData = "TF_LOG_SDK_PROTO_DATA_DIR"

// The test runs the plan of each example, and compares the function with a plan of each compute without a cluster. Some
// examples need prerequisites that do not exist here. Their plans fail after some or all computes were planned.
func TestAccManifestsFunctionEqualsThePlanOfTheExamples(t *testing.T) {
	t.Parallel()
	examples := filepath.Join(acctest.Root(), "examples")
	files, err := filepath.Glob(filepath.Join(examples, "*", "main.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples found: %v", err)
	}
	guides, err := filepath.Glob(filepath.Join(examples, "guides", "*", "main.tf"))
	if err != nil || len(guides) == 0 {
		t.Fatalf("no examples of guides found: %v", err)
	}
	var compared atomic.Int64
	t.Cleanup(func() { // after the subtests
		if n := compared.Load(); n < 20 && !t.Failed() {
			t.Errorf("only %d computes were compared", n)
		}
	})
	for _, file := range append(files, guides...) {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			for _, config := range plannedConfigs(t, filepath.Dir(file)) {
				server := acctest.ConfiguredProvider(t, map[string]string{"namespace": "default"})
				planned := offlineManifests(t, server, config)
				compared.Add(1)
				rendered := manifestsFunction(t, server, config)
				for key, text := range rendered {
					rendered[key] = exported.ReplaceAllString(text, `export $1=(env_vars.$1)\n`)
				}
				if diff := cmp.Diff(planned, rendered); diff != "" {
					t.Errorf("the plan (-) and the function (+) differ:\n%s", diff)
				}
			}
		})
	}
}

// exported matches a line of the startup script that exports a value of env_vars, in JSON.
var exported = regexp.MustCompile(`export (\w+)=\\"[^\n]*?\\"\\n`)

// plannedConfigs returns the configurations of the computes that the plan of a directory creates.
func plannedConfigs(t *testing.T, dir string) []tftypes.Value {
	t.Helper()
	cli, data := acctest.NewCLI(t), t.TempDir()
	cli.Copy(t, dir)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", cluster.Namespace(t))
	cli.Setenv("HF_TOKEN", "not-a-real-token")
	cli.Setenv(protocolData, data)
	if out, err := cli.Run(t, "plan"); err != nil {
		t.Logf("%s: %v\n%s", dir, err, out)
	}
	files, err := filepath.Glob(filepath.Join(data, "*_PlanResourceChange_Request_Config.msgpack"))
	if err != nil {
		t.Fatal(err)
	}
	typ := computeType(t)
	var configs []tftypes.Value
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		config, err := (&tfprotov6.DynamicValue{MsgPack: text}).Unmarshal(typ)
		if err == nil && !config.IsNull() && config.IsFullyKnown() { // otherwise of another resource type
			configs = append(configs, config)
		}
	}
	return configs
}

func computeType(t *testing.T) tftypes.Type {
	t.Helper()
	server := acctest.ConfiguredProvider(t, map[string]string{"namespace": "default"})
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return schemas.ResourceSchemas["kt_compute"].ValueType()
}

// offlineManifests returns the attribute manifests in the plan of a new compute without a cluster.
func offlineManifests(t *testing.T, server tfprotov6.ProviderServer, config tftypes.Value) map[string]string {
	t.Helper()
	none := encoded(t, config.Type(), tftypes.NewValue(config.Type(), nil))
	planned, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: "kt_compute", Config: encoded(t, config.Type(), config), PriorState: none,
		ProposedNewState: encoded(t, config.Type(), config),
	})
	if err != nil || planned.PlannedState == nil {
		t.Fatal(err, planned)
	}
	state := attributesOf(t, server, planned.PlannedState)
	var values []string // the function has them in place of the references
	for name, value := range knownElements(t, state["env_vars"]) {
		inJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, `"(env_vars.`+name+`)"`, string(inJSON))
	}
	manifests := knownElements(t, state["manifests"])
	for key, text := range manifests {
		manifests[key] = revealed(t, strings.NewReplacer(values...).Replace(text),
			knownElements(t, state["sensitive_values"])[key])
	}
	return manifests
}

// revealed returns the text of an object with the values that sensitive_values has for it.
func revealed(t *testing.T, text, hidden string) string {
	t.Helper()
	if hidden == "" {
		return text
	}
	var values sensitive.Values
	object := &unstructured.Unstructured{}
	err := errors.Join(json.Unmarshal([]byte(hidden), &values), object.UnmarshalJSON([]byte(text)))
	if err == nil {
		err = sensitive.Show(object.Object, values)
	}
	if err == nil {
		text, err = manifest.JSON(object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func manifestsFunction(t *testing.T, server tfprotov6.ProviderServer, config tftypes.Value) map[string]string {
	t.Helper()
	resp, err := server.CallFunction(t.Context(), &tfprotov6.CallFunctionRequest{
		Name: "manifests", Arguments: []*tfprotov6.DynamicValue{encoded(t, tftypes.DynamicPseudoType, config)},
	})
	if err != nil || resp.Error != nil {
		t.Fatal(err, resp.Error)
	}
	result, err := resp.Result.Unmarshal(tftypes.Map{ElementType: tftypes.String})
	if err != nil {
		t.Fatal(err)
	}
	return knownElements(t, result)
}

func encoded(t *testing.T, typ tftypes.Type, value tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	out, err := tfprotov6.NewDynamicValue(typ, value)
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// knownElements returns the known elements of a map of strings.
func knownElements(t *testing.T, of tftypes.Value) map[string]string {
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
