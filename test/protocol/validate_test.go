package protocol_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// badInput is a configuration of a kt_compute with one problem, and the diagnostic
// that reports it.
type badInput struct {
	name   string
	config string // JSON; the name is added
	at     string // path of the diagnostic
	text   string // part of its detail
	warns  bool   // whether it is a warning
}

const named = `"name": "trainer"`

func TestComputeReportsInvalidInputAtItsAttribute(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	for _, group := range [][]badInput{
		badNames(), badQuantities(), badNumbers(), badDurations(), badMaps(), badChoices(), badImagesAndPaths(),
		badTolerations(),
		badCombinations(), badDuplicates(), badIdentity(), badGPUTypes(), badTemplates(), incomplete(),
		badAutoscale(), badDistribute(), badModes(), badManifests(), badManifestOnly(), badIdentityOfManifests(),
		badPodTemplatePaths(),
		badSelectors(), badImageSetups(), badLogging(), badTensorServers(), badOwnServers(),
		badDevices(), badPlacement(), badExposures(), badServing(), badSources(), badSecurity(), badContainers(),
		badScalers(),
	} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				found := o.validate(t, "kt_compute", jsonConfig(t, o.types["kt_compute"], withName(c.config)))
				severity := tfprotov6.DiagnosticSeverityError
				if c.warns {
					severity = tfprotov6.DiagnosticSeverityWarning
				}
				if len(found) != 1 || found[0].severity != severity || found[0].path != c.at ||
					!strings.Contains(found[0].detail, c.text) {
					t.Errorf("%s gives %v\nwant one %s at %s that contains: %s", c.config, found, severity, c.at,
						c.text)
				}
				if len(found) > 0 && found[0].summary == "" {
					t.Error("the diagnostic has no summary")
				}
			})
		}
	}
}

// withName adds a name to the configuration unless it has one.
func withName(config string) string {
	if strings.Contains(config, `"name"`) && strings.HasPrefix(config, `{"name"`) {
		return config
	}
	if config == "{}" {
		return "{" + named + "}"
	}
	return "{" + named + ", " + strings.TrimPrefix(config, "{")
}

func badNames() []badInput {
	return []badInput{
		{name: "no name", config: `{"name": null}`, at: "name", text: "Must set a configuration value"},
		{name: "name in upper case", config: `{"name": "Trainer"}`, at: "name", text: `Did you mean "trainer"?`},
		{name: "name with leading digit", config: `{"name": "8b-trainer"}`, at: "name",
			text: `name is "8b-trainer", but must be an RFC 1035 label of at most 63 lowercase letters, digits and ` +
				`dashes that starts with a letter`},
		{name: "namespace in upper case", config: `{"namespace": "ML"}`, at: "namespace", text: `Did you mean "ml"?`},
		{name: "service account", config: `{"service_account_name": "My_Account"}`, at: "service_account_name",
			text: `Did you mean "my-account"?`},
		{name: "priority class", config: `{"priority_class_name": "High Priority"}`, at: "priority_class_name",
			text: `Did you mean "high-priority"?`},
		{name: "runtime class", config: `{"runtime_class_name": "gVisor"}`, at: "runtime_class_name",
			text: `Did you mean "gvisor"?`},
		{name: "image pull secret", config: `{"image_pull_secrets": ["a", "My_Registry"]}`, at: "image_pull_secrets[1]",
			text: `Did you mean "my-registry"?`},
		{name: "null among the image pull secrets", config: `{"image_pull_secrets": ["a", null]}`,
			at: "image_pull_secrets[1]", text: "is null"},
		{name: "image pull secret twice", config: `{"image_pull_secrets": ["a", "a"]}`, at: "image_pull_secrets",
			text: "duplicate values"},
		{name: "name of a secret", config: `{"secrets": [{"name": "HF_TOKEN", "env_vars": ["HF_TOKEN"]}]}`,
			at: "secrets[0].name", text: `Did you mean "hf-token"?`},
		{name: "name of a claim", config: `{"volumes": [{"claim_name": "data", "mount_path": "/data"},
			{"claim_name": "data/2", "mount_path": "/more"}]}`,
			at: "volumes[1].claim_name", text: `Did you mean "data-2"?`},
	}
}

func badQuantities() []badInput {
	cases := []badInput{}
	for _, q := range []struct{ attribute, value, text string }{
		{"memory", "4gb",
			`memory is "4gb", but "gb" is not a unit: did you mean "4G" (powers of 1000) or "4Gi" (powers of 1024)?`},
		{"cpus", "-1", "must not be negative"},
		{"cpus", "", `set a quantity such as "500m", "2" or "4Gi", or remove the attribute`},
		{"disk_size", "10GiB", `did you mean "10Gi"?`},
		{"memory", "512m", `memory is "512m", which is a fraction of a byte: m means a thousandth, M a million`},
		{"shared_memory_limit", "0.5", "which is a fraction of a byte"},
		{"memory", "32", `memory is "32", less than 1M (bytes if it has no unit): set a size such as "10Gi"`},
		{"memory", "16000", `memory is "16k", less than 1M`},
		{"disk_size", "1e3", `disk_size is "1e3", less than 1M`},
		{"gpu_memory", "16384", `gpu_memory is "16384", less than 1M`},
		{"gpu_memory", "0", `set a size such as "4Gi"`},
		{"shared_memory_limit", "2gi", `did you mean "2Gi"?`},
	} {
		cases = append(cases, badInput{
			name: fmt.Sprintf("%s %.20q", q.attribute, q.value), config: fmt.Sprintf("{%q: %q}", q.attribute, q.value),
			at: q.attribute, text: q.text,
		})
	}
	return cases
}

func badNumbers() []badInput {
	return []badInput{
		{name: "negative gpus", config: `{"gpus": -1}`, at: "gpus", text: "must be at least 0, got: -1"},
		{name: "one and a half gpus", config: `{"gpus": 1.5}`, at: "gpus",
			text: "gpus is 1.5, but must be an integer."},
		{name: "negative replicas", config: `{"replicas": -3}`, at: "replicas",
			text: "must be between 0 and 2147483647, got: -3"},
		{name: "replicas beyond 32 bits", config: `{"replicas": 2147483648}`, at: "replicas",
			text: "must be between 0 and 2147483647, got: 2147483648"},
		{name: "fraction of a second", config: `{"tolerations": [{"operator": "Exists", "effect": "NoExecute",
			"toleration_seconds": 0.25}]}`,
			at: "tolerations[0].toleration_seconds", text: "is 0.25, but must be an integer."},
	}
}

func badDurations() []badInput {
	return []badInput{
		{name: "duration in words", config: `{"launch_timeout": "5 minutes"}`, at: "launch_timeout",
			text: `is "5 minutes", which is not a duration: use numbers with units`},
		{name: "duration with a space", config: `{"launch_timeout": "5 m"}`, at: "launch_timeout",
			text: `a duration has no spaces: use "5m"`},
		{name: "empty duration", config: `{"launch_timeout": ""}`, at: "launch_timeout",
			text: `set a duration such as "90s", "15m" or "1d12h", or remove the attribute`},
		{name: "no time to launch", config: `{"launch_timeout": "0s"}`, at: "launch_timeout",
			text: `on_not_ready = "ignore" disables the wait`},
		{name: "time to launch in words", config: `{"launch_timeout": "an hour"}`, at: "launch_timeout",
			text: `is "an hour", which is not a duration`},
		{name: "ttl of weeks", config: `{"inactivity_ttl": "2w"}`, at: "inactivity_ttl",
			text: `inactivity_ttl is "2w", which is not a duration`},
		{name: "ttl under a minute", config: `{"inactivity_ttl": "59s"}`, at: "inactivity_ttl",
			text: "inactivity_ttl is 59s, less than a minute", warns: true},
		{name: "ttl in bare seconds under a minute", config: `{"inactivity_ttl": "30"}`, at: "inactivity_ttl",
			text: "less than a minute", warns: true},
		{name: "timeout in words", config: `{"timeouts": {"create": "ten minutes"}}`, at: "timeouts.create",
			text: `timeouts.create is "ten minutes", which is not a duration: use numbers with units (h, m, s), as ` +
				`in "20m" or "1h30m".`},
		{name: "zero timeout", config: `{"timeouts": {"create": "0s"}}`, at: "timeouts.create",
			text: "must be more than zero"},
	}
}

func badMaps() []badInput {
	return []badInput{
		{name: "label key with blank", config: `{"labels": {"my team": "ml"}}`, at: `labels["my team"]`,
			text: `a key of labels is "my team", but must be the key of a label`},
		{name: "label key with bad prefix", config: `{"labels": {"Bad_Prefix!/team": "ml"}}`,
			at:   `labels["Bad_Prefix!/team"]`,
			text: "optionally after a domain and a slash, such as example.com/team or team"},
		{name: "label value with blank", config: `{"labels": {"team": "machine learning"}}`, at: `labels["team"]`,
			text: `labels["team"] is "machine learning"`},
		{name: "null label", config: `{"labels": {"team": null}}`, at: `labels["team"]`,
			text: `labels["team"] is null: set a value, or remove it.`},
		{name: "annotation key with blank", config: `{"annotations": {"my note": "x"}}`, at: `annotations["my note"]`,
			text: `a key of annotations is "my note"`},
		{name: "null annotation", config: `{"annotations": {"note": null}}`, at: `annotations["note"]`,
			text: "is null"},
		{name: "node selector value", config: `{"node_selector": {"zone": "eu west"}}`, at: `node_selector["zone"]`,
			text: `is "eu west"`},
		{name: "node selector key", config: `{"node_selector": {"zone:": "eu"}}`, at: `node_selector["zone:"]`,
			text: `a key of node_selector is "zone:"`},
		{name: "variable with leading digit", config: `{"env_vars": {"1BAD": "x"}}`, at: `env_vars["1BAD"]`,
			text: `a key of env_vars is "1BAD", but must be the name of an environment variable: letters, digits, ` +
				`underscores, dashes and dots that do not start with a digit`},
		{name: "null variable", config: `{"env_vars": {"A": null}}`, at: `env_vars["A"]`, text: "is null"},
		{name: "variable from a secret", config: `{"secrets": [{"name": "hf", "env_vars": ["HF TOKEN"]}]}`,
			at: "secrets[0].env_vars[0]", text: `is "HF TOKEN", but must be the name of an environment variable`},
		{name: "null variable from a secret", config: `{"secrets": [{"name": "hf", "env_vars": [null]}]}`,
			at: "secrets[0].env_vars[0]", text: "is null"},
		{name: "no variables from a secret", config: `{"secrets": [{"name": "hf", "env_vars": []}]}`,
			at: "secrets[0].env_vars", text: "must contain at least 1 elements, got: 0"},
		{name: "queue name", config: `{"queue_name": "my queue"}`, at: "queue_name", text: `queue_name is "my queue"`},
		{name: "empty queue name", config: `{"queue_name": ""}`, at: "queue_name", text: "must be at least 1, got: 0"},
		{name: "no serialization", config: `{"allowed_serialization": []}`, at: "allowed_serialization",
			text: "must contain at least 1 elements, got: 0"},
		{name: "empty serialization", config: `{"allowed_serialization": ["json", ""]}`, at: "allowed_serialization[1]",
			text: "must be at least 1, got: 0"},
		{name: "serializations in one text", config: `{"allowed_serialization": ["json,pickle"]}`,
			at: "allowed_serialization[0]", text: `is "json,pickle"`},
		{name: "serialization twice", config: `{"allowed_serialization": ["json", "json"]}`,
			at: "allowed_serialization", text: `duplicate values of: "json"`},
		{name: "endpoint selector value", config: `{"endpoint": {"selector": {"role": "head node"}}}`,
			at: `endpoint.selector["role"]`, text: `is "head node"`},
		{name: "endpoint that selects all", config: `{"endpoint": {"selector": {}}}`, at: "endpoint.selector",
			text: "must contain at least 1 elements, got: 0"},
	}
}

func badChoices() []badInput {
	cases := []badInput{}
	for _, c := range []struct{ attribute, value, text string }{
		{"image_pull_policy", "always", `must be one of: ["Always" "IfNotPresent" "Never"], got: "always"`},
		{"on_not_ready", "fail", `must be one of: ["error" "warn" "ignore"], got: "fail"`},
		{"runtime", "ray", `must be one of: ["kubetorch" "skytorch" "kpu"], got: "ray"`},
	} {
		cases = append(cases, badInput{name: c.attribute, config: fmt.Sprintf("{%q: %q}", c.attribute, c.value),
			at: c.attribute, text: c.text})
	}
	return append(cases,
		badInput{name: "queue_scheduler", config: `{"queue_name": "q", "queue_scheduler": "volcano"}`,
			at: "queue_scheduler", text: `must be one of: ["kueue" "kai"], got: "volcano"`},
		badInput{name: "logging level", config: `{"logging_config": {"level": "TRACE"}}`, at: "logging_config.level",
			text: `must be one of: ["debug" "info" "warning" "error"], got: "TRACE"`},
		badInput{name: "read-only attribute", config: `{"url": "http://x"}`, at: "url",
			text: "Remove the configuration line"},
	)
}

func badCombinations() []badInput {
	return []badInput{
		{name: "anti-affinity with gpu_memory", config: `{"gpu_memory": "4Gi", "gpu_anti_affinity": true}`,
			at: "gpu_anti_affinity", text: "remove one of the two"},
		{name: "mode of a secret", config: `{"secrets": [{"name": "ssh", "mount_path": "/a", "default_mode": "400"}]}`,
			at: "secrets[0].default_mode", text: `is "400", but must be four octal digits from 0000 to 0777`},
		{name: "mode that is no octal number", config: `{"secrets": [{"name": "ssh", "mount_path": "/a",
			"default_mode": "0480"}]}`, at: "secrets[0].default_mode", text: `four octal digits`},
	}
}

func badDuplicates() []badInput {
	return []badInput{
		{name: "two volumes at one path", config: `{"volumes": [{"claim_name": "a", "mount_path": "/data"},
			{"claim_name": "b", "mount_path": "/data"}]}`,
			at:   "volumes[1].mount_path",
			text: "volumes[1].mount_path is /data, where volumes[0] is already mounted: use another path."},
		{name: "one claim twice at one path", config: `{"volumes": [{"claim_name": "a", "mount_path": "/data"},
			{"claim_name": "a", "mount_path": "/data"}]}`, at: "volumes[1].mount_path",
			text: "volumes[0] is already mounted"},
		{name: "volume over the shared memory", config: `{"volumes": [{"claim_name": "b", "mount_path": "/dev/shm"}]}`,
			at:   "volumes[0].mount_path",
			text: "volumes[0].mount_path is /dev/shm, where the shared memory is already mounted"},
		{name: "variable from env_vars and a secret", config: `{"env_vars": {"HF_TOKEN": "x"},
			"secrets": [{"name": "hf", "env_vars": ["OTHER", "HF_TOKEN"]}]}`,
			at:   "secrets[0].env_vars[1]",
			text: "secrets[0].env_vars[1] sets HF_TOKEN, a variable that env_vars also sets: remove one of them."},
		{name: "variable twice from a secret", config: `{"secrets": [{"name": "hf",
			"env_vars": ["HF_TOKEN", "HF_TOKEN"]}]}`,
			at: "secrets[0].env_vars[1]", text: "a variable that secrets[0] also sets"},
		{name: "duplicate with an unknown item", config: `{"volumes": ["` + unknown +
			`", {"claim_name": "b", "mount_path": "/dev/shm"}]}`, at: "volumes[1].mount_path",
			text: "the shared memory is already mounted"},
	}
}

func badIdentity() []badInput {
	return []badInput{
		{name: "label of the manager", config: `{"labels": {"app.kubernetes.io/managed-by": "helm"}}`, at: "labels",
			text: "the provider finds its objects with it. Remove it."},
		{name: "label with something unknown", config: `{"image": "` + unknown +
			`", "labels": {"kubetorch.com/service": "other"}}`, at: "labels", text: `it must be "trainer" here`},
	}
}

func TestComputeReportsEachOfSeveralProblems(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	config := `{"name": "Bad", "memory": "4gb", "gpus": -1, "image": "a b", "gpu_type": "L 4", "launch_timeout": "1x",
		"queue_scheduler": "kai",
		"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}], "volumes": [{"claim_name": "a",
		"mount_path": "x"}],
		"autoscale": {"window": "2s", "target": 0, "min_scale": 2, "max_scale": 1},
		"distribute": {"args": "[]"}, "logging_config": {"poll_timeout": "x"}}`
	var at []string
	for _, f := range o.validate(t, "kt_compute", jsonConfig(t, o.types["kt_compute"], config)) {
		at = append(at, f.path)
	}
	slices.Sort(at)
	want := []string{
		"autoscale.min_scale", "autoscale.target", "autoscale.window", "distribute", "distribute.args", "gpu_type",
		"gpus", "image", "launch_timeout",
		"logging_config.poll_timeout", "memory", "name", "queue_scheduler", "tolerations[0].value",
		"volumes[0].mount_path",
	}
	if !slices.Equal(at, want) {
		t.Errorf("errors at %q, want one at each of %q", at, want)
	}
}
