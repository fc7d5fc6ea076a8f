package computes_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// validation is the output of `validate -json`.
type validation struct {
	Valid       bool         `json:"valid"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Severity string `json:"severity"`
	Detail   string `json:"detail"`
	Address  string `json:"address"`
	Snippet  struct {
		Code string `json:"code"`
	} `json:"snippet"`
}

// validate runs the CLI without a cluster, kubeconfig or environment variables. It
// returns the diagnostics about the resource.
func validate(t *testing.T, config string) (valid bool, found []diagnostic) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set")
	}
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, config)
	out, err := cli.Run(t, "validate", "-json")
	var r validation
	if jsonErr := json.Unmarshal([]byte(out), &r); jsonErr != nil {
		t.Fatalf("%v, %v:\n%s", err, jsonErr, out)
	}
	for _, d := range r.Diagnostics {
		if d.Address != "" || d.Severity == "error" { // not warnings of the CLI itself
			found = append(found, d)
		}
	}
	return r.Valid, found
}

const resourceLine = `resource "kt_compute" "trainer" {`

func trainerWith(attributes string) string {
	return resourceLine + "\n  name = \"trainer\"\n  " + attributes + "\n}\n"
}

func TestAccValidateReportsTheInvalidLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attributes    string
		line, message string // for a nested attribute, line is the line of the resource
		valid         bool   // the diagnostic is only a warning
	}{
		"quantity": {`memory = "4gb"`, `memory = "4gb"`,
			`memory is "4gb", but "gb" is not a unit: did you mean "4G"`, false},
		"fraction of gpus": {`gpus = 1.5`, `gpus = 1.5`, "gpus is 1.5, but must be an integer.", false},
		"text for number":  {`gpus = "two"`, `gpus = "two"`, "a number is required", false},
		"unknown argument": {`gpu = 1`, `gpu = 1`, `An argument named "gpu" is not expected here`, false},
		"toleration": {
			"tolerations = [\n    { operator = \"Exists\" },\n    { key = \"a\", operator = \"Exists\", value = " +
				"\"b\" },\n  ]",
			resourceLine,
			"tolerations[1] has a value, but its operator Exists tolerates every value of the taint: remove value, " +
				"or use Equal", false,
		},
		"key of a map": {`env_vars = { "1BAD" = "x" }`, `env_vars = { "1BAD" = "x" }`,
			`a key of env_vars is "1BAD"`, false},
		"template": {`service_template = jsonencode({ kind = "Pod" })`,
			`service_template = jsonencode({ kind = "Pod" })`, "changes kind", false},
		"exclusive":      {"gpus = 1\n  gpu_memory = \"4Gi\"", `gpu_memory = "4Gi"`, "set only one of the two", false},
		"very short ttl": {`inactivity_ttl = "5s"`, `inactivity_ttl = "5s"`, "less than a minute", true},
		"timeout": {`timeouts = { create = "-5m" }`, resourceLine,
			"timeouts.create is \"-5m\", but must be more than zero", false},
		"incomplete volume": {`volumes = [{ claim_name = "data" }]`, `volumes = [{ claim_name = "data" }]`,
			`attribute "mount_path" is required`, false},
		"volume without a path": {`volumes = [{ claim_name = "data", mount_path = null }]`, resourceLine,
			"Must set a configuration value for the volumes[0].mount_path attribute", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			valid, found := validate(t, trainerWith(c.attributes))
			if valid != c.valid || len(found) != 1 {
				t.Fatalf("valid is %t with %+v; want %t and one diagnostic", valid, found, c.valid)
			}
			d := found[0]
			// The CLI wraps long lines of its own messages.
			detail := strings.Join(strings.Fields(d.Detail), " ")
			if d.Address != "kt_compute.trainer" && d.Address != "" || strings.TrimSpace(d.Snippet.Code) != c.line ||
				!strings.Contains(detail, c.message) {
				t.Errorf("got %+v\nwant one at %q that contains: %s", d, c.line, c.message)
			}
		})
	}
}

func TestAccValidateAcceptsUnknownValues(t *testing.T) {
	t.Parallel()
	valid, found := validate(t, `
variable "volume" {
  type = object({ claim_name = string, mount_path = string })
}
variable "secret" {
  type = object({ name = string, env_vars = list(string) })
}
variable "tolerations" {
  type = list(object({ key = string, operator = string }))
}
variable "gpus" {
  type = number
}
variable "labels" {
  type = map(string)
}
resource "kt_compute" "pool" {
  for_each           = toset(["a", "b"])
  name               = "pool-${each.key}"
  gpus               = var.gpus
  gpu_memory         = var.gpus > 0 ? null : "4Gi"
  gpu_anti_affinity  = var.gpus == 0
  labels             = merge(var.labels, { pool = each.key })
  tolerations        = concat(var.tolerations, [{ key = "spot", operator = "Exists" }])
  secrets            = [var.secret, { name = "hf", env_vars = ["HF_TOKEN"] }]
  volumes            = [var.volume, { claim_name = "data", mount_path = "/data" }]
  service_template   = jsonencode({ metadata = { annotations = var.labels } })
}
resource "kt_image" "torch" {
  name     = "torch"
  image_id = "debian:12"
}
resource "kt_volume" "data" {
  name       = "data"
  size       = "1Gi"
  mount_path = "/data"
}
resource "kt_secret" "token" {
  name              = "token"
  values_wo         = { TOKEN = "none" }
  values_wo_version = 1
}
resource "kt_compute" "next" {
  name      = "next"
  env_vars  = { POOL = kt_compute.pool["a"].url }
  image_ref = kt_image.torch.ref
  volumes   = [kt_volume.data.ref]
  secrets   = [kt_secret.token.ref]
}
`)
	if !valid || len(found) > 0 {
		t.Errorf("valid is %t with %+v", valid, found)
	}
}
