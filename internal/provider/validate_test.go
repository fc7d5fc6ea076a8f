package provider_test

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
	says   string // part of its detail
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
		badAutoscale(), badDistribute(), badModes(), badManifests(), badIdentityOfManifests(), badPodTemplatePaths(),
		badSelectors(), badImageSetups(), badLogging(), badTensorServers(),
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
					!strings.Contains(found[0].detail, c.says) {
					t.Errorf("%s gives %v\nwant one %s at %s that contains: %s", c.config, found, severity, c.at,
						c.says)
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
	long := strings.Repeat("a", 64)
	return []badInput{
		{name: "no name", config: `{"name": null}`, at: "name", says: "Must set a configuration value"},
		{name: "empty name", config: `{"name": ""}`, at: "name", says: "name is empty, but must be an RFC 1035 label"},
		{name: "name in upper case", config: `{"name": "Trainer"}`, at: "name", says: `Did you mean "trainer"?`},
		{name: "name with underscore", config: `{"name": "llm_train"}`, at: "name", says: `Did you mean "llm-train"?`},
		{name: "name with blank", config: `{"name": "llm train"}`, at: "name", says: `Did you mean "llm-train"?`},
		{name: "name with dot", config: `{"name": "llm.train"}`, at: "name", says: `Did you mean "llm-train"?`},
		{name: "name with leading digit", config: `{"name": "8b-trainer"}`, at: "name",
			says: `name is "8b-trainer", but must be an RFC 1035 label of at most 63 lowercase letters, digits and ` +
				`dashes that starts with a letter`},
		{name: "name with trailing dash", config: `{"name": "trainer-"}`, at: "name", says: `Did you mean "trainer"?`},
		{name: "name of 64 characters", config: `{"name": "` + long + `"}`, at: "name", says: "at most 63"},
		{name: "name with a line break", config: `{"name": "trainer\n"}`, at: "name", says: `name is "trainer\n"`},
		{name: "name outside of ASCII", config: `{"name": "tränen"}`, at: "name", says: `name is "tränen"`},
		{name: "namespace in upper case", config: `{"namespace": "ML"}`, at: "namespace", says: `Did you mean "ml"?`},
		{name: "namespace with dot", config: `{"namespace": "ml.team"}`, at: "namespace",
			says: `Did you mean "ml-team"?`},
		{name: "empty namespace", config: `{"namespace": ""}`, at: "namespace",
			says: "namespace is empty, but must be the name of a namespace"},
		{name: "namespace of 64 characters", config: `{"namespace": "` + long + `"}`, at: "namespace",
			says: "at most 63"},
		{name: "service account", config: `{"service_account_name": "My_Account"}`, at: "service_account_name",
			says: `Did you mean "my-account"?`},
		{name: "empty service account", config: `{"service_account_name": ""}`, at: "service_account_name",
			says: "service_account_name is empty"},
		{name: "priority class", config: `{"priority_class_name": "High Priority"}`, at: "priority_class_name",
			says: `Did you mean "high-priority"?`},
		{name: "image pull secret", config: `{"image_pull_secrets": ["a", "My_Registry"]}`, at: "image_pull_secrets[1]",
			says: `Did you mean "my-registry"?`},
		{name: "null among the image pull secrets", config: `{"image_pull_secrets": ["a", null]}`,
			at: "image_pull_secrets[1]", says: "is null"},
		{name: "image pull secret twice", config: `{"image_pull_secrets": ["a", "a"]}`, at: "image_pull_secrets",
			says: "duplicate values"},
		{name: "name of a secret", config: `{"secrets": [{"name": "HF_TOKEN", "env_vars": ["HF_TOKEN"]}]}`,
			at: "secrets[0].name", says: `Did you mean "hf-token"?`},
		{name: "name of a claim", config: `{"volumes": [{"claim_name": "data", "mount_path": "/data"},
			{"claim_name": "data/2", "mount_path": "/more"}]}`,
			at: "volumes[1].claim_name", says: `Did you mean "data-2"?`},
	}
}

func badQuantities() []badInput {
	cases := []badInput{}
	for _, q := range []struct{ attribute, value, says string }{
		{"memory", "4gb",
			`memory is "4gb", but "gb" is not a unit: did you mean "4G" (powers of 1000) or "4Gi" (powers of 1024)?`},
		{"memory", "4GB", `did you mean "4G" (powers of 1000) or "4Gi" (powers of 1024)?`},
		{"memory", "4 Gi", `a quantity has no spaces: use "4Gi"`},
		{"memory", "4mi", `did you mean "4Mi"? Units are case-sensitive`},
		{"memory", "4GI", `did you mean "4Gi"? Units are case-sensitive`},
		{"memory", "1K", `did you mean "1k" (powers of 1000) or "1Ki" (powers of 1024)?`},
		{"memory", "Gi", "it must start with a number"},
		{"memory", "lots", "it must start with a number"},
		{"memory", "1,5Gi", "at most one decimal point and no other separators"},
		{"memory", "16Ei", "the limit of Kubernetes"},
		{"memory", "1e400", "exponent is too large"},
		{"memory", "1e-999999999", "exponent is too large"},
		{"cpus", "-1", "must not be negative"},
		{"cpus", "", `set a quantity such as "500m", "2" or "4Gi", or remove the attribute`},
		{"cpus", "1,5", "at most one decimal point"},
		{"cpus", "0x10", `"x10" is not a unit`},
		{"cpus", "1e2147483647", "exponent is too large"},
		{"cpus", "2 cores", "a quantity has no spaces"},
		{"cpus", "NaN", "it must start with a number"},
		{"disk_size", "10GiB", `did you mean "10Gi"?`},
		{"disk_size", strings.Repeat("9", 100_000), "has 100000 characters"},
		{"gpu_memory", "4g", `did you mean "4G" (powers of 1000) or "4Gi" (powers of 1024)?`},
		{"gpu_memory", "0", `set a size such as "4Gi"`},
		{"shared_memory_limit", "2gi", `did you mean "2Gi"?`},
	} {
		cases = append(cases, badInput{
			name: fmt.Sprintf("%s %.20q", q.attribute, q.value), config: fmt.Sprintf("{%q: %q}", q.attribute, q.value),
			at: q.attribute, says: q.says,
		})
	}
	return cases
}

func badNumbers() []badInput {
	return []badInput{
		{name: "negative gpus", config: `{"gpus": -1}`, at: "gpus", says: "must be at least 0, got: -1"},
		{name: "one and a half gpus", config: `{"gpus": 1.5}`, at: "gpus",
			says: "gpus is 1.5, but must be an integer."},
		{name: "more gpus than 64 bits hold", config: `{"gpus": 1e30}`, at: "gpus",
			says: "gpus is 1e+30, but must be less than 2^63."},
		{name: "negative replicas", config: `{"replicas": -3}`, at: "replicas",
			says: "must be between 0 and 2147483647, got: -3"},
		{name: "replicas beyond 32 bits", config: `{"replicas": 2147483648}`, at: "replicas",
			says: "must be between 0 and 2147483647, got: 2147483648"},
		{name: "half a replica", config: `{"replicas": 0.5}`, at: "replicas",
			says: "replicas is 0.5, but must be an integer."},
		{name: "fraction of a second", config: `{"tolerations": [{"operator": "Exists", "effect": "NoExecute",
			"toleration_seconds": 0.25}]}`,
			at: "tolerations[0].toleration_seconds", says: "is 0.25, but must be an integer."},
	}
}

func badDurations() []badInput {
	return []badInput{
		{name: "duration in words", config: `{"launch_timeout": "5 minutes"}`, at: "launch_timeout",
			says: "a duration has no spaces"},
		{name: "unit in words", config: `{"launch_timeout": "5minutes"}`, at: "launch_timeout",
			says: `use numbers with units (d first, then h, m, s, ms)`},
		{name: "negative duration", config: `{"launch_timeout": "-5m"}`, at: "launch_timeout",
			says: "must not be negative"},
		{name: "unknown unit", config: `{"launch_timeout": "1x"}`, at: "launch_timeout",
			says: `launch_timeout is "1x", which is not a duration`},
		{name: "empty duration", config: `{"launch_timeout": ""}`, at: "launch_timeout",
			says: `set a duration such as "90s", "15m" or "1d12h", or remove the attribute`},
		{name: "negative part", config: `{"launch_timeout": "1h-5m"}`, at: "launch_timeout",
			says: "which is not a duration"},
		{name: "days last", config: `{"launch_timeout": "12h1d"}`, at: "launch_timeout", says: "d first"},
		{name: "duration beyond 64 bits", config: `{"launch_timeout": "9999999d"}`, at: "launch_timeout",
			says: "less than 292 years"},
		{name: "seconds beyond 64 bits", config: `{"inactivity_ttl": "99999999999999999999"}`, at: "inactivity_ttl",
			says: "less than 292 years"},
		{name: "endless duration", config: `{"inactivity_ttl": "` + strings.Repeat("1h", 10_000) + `"}`,
			at: "inactivity_ttl", says: "has 20000 characters"},
		{name: "no time to launch", config: `{"launch_timeout": "0s"}`, at: "launch_timeout",
			says: `on_not_ready = "ignore" disables the wait`},
		{name: "no time to wait", config: `{"wait_timeout": "0"}`, at: "wait_timeout",
			says: `on_not_ready = "ignore" disables the wait`},
		{name: "time to wait in words", config: `{"wait_timeout": "an hour"}`, at: "wait_timeout",
			says: "a duration has no spaces"},
		{name: "ttl of weeks", config: `{"inactivity_ttl": "2w"}`, at: "inactivity_ttl",
			says: `inactivity_ttl is "2w", which is not a duration`},
		{name: "ttl under a minute", config: `{"inactivity_ttl": "59s"}`, at: "inactivity_ttl",
			says: "inactivity_ttl is 59s, less than a minute", warns: true},
		{name: "ttl in bare seconds under a minute", config: `{"inactivity_ttl": "30"}`, at: "inactivity_ttl",
			says: "less than a minute", warns: true},
		{name: "timeout in words", config: `{"timeouts": {"create": "ten minutes"}}`, at: "timeouts.create",
			says: `timeouts.create is "ten minutes", which is not a duration: use numbers with units (h, m, s), as ` +
				`in "20m" or "1h30m".`},
		{name: "timeout without a unit", config: `{"timeouts": {"update": "600"}}`, at: "timeouts.update",
			says: `timeouts.update is "600", which is not a duration`},
		{name: "empty timeout", config: `{"timeouts": {"delete": ""}}`, at: "timeouts.delete",
			says: `timeouts.delete is "", which is not a duration`},
		{name: "negative timeout", config: `{"timeouts": {"delete": "-5m"}}`, at: "timeouts.delete",
			says: `timeouts.delete is "-5m", but must be more than zero`},
		{name: "zero timeout", config: `{"timeouts": {"create": "0s"}}`, at: "timeouts.create",
			says: "must be more than zero"},
	}
}

func badMaps() []badInput {
	long := strings.Repeat("v", 64)
	return []badInput{
		{name: "label key with blank", config: `{"labels": {"my team": "ml"}}`, at: `labels["my team"]`,
			says: `a key of labels is "my team", but must be the key of a label`},
		{name: "label key of 64 characters", config: `{"labels": {"` + long + `": "ml"}}`, at: `labels["` + long + `"]`,
			says: "at most 63"},
		{name: "label key with bad prefix", config: `{"labels": {"Bad_Prefix!/team": "ml"}}`,
			at:   `labels["Bad_Prefix!/team"]`,
			says: "optionally after a domain and a slash, such as example.com/team or team"},
		{name: "label key with two slashes", config: `{"labels": {"a/b/c": "ml"}}`, at: `labels["a/b/c"]`,
			says: `a key of labels is "a/b/c"`},
		{name: "empty label key", config: `{"labels": {"": "ml"}}`, at: `labels[""]`, says: "a key of labels is empty"},
		{name: "label value of 64 characters", config: `{"labels": {"team": "` + long + `"}}`, at: `labels["team"]`,
			says: "but must be the value of a label: at most 63"},
		{name: "label value with blank", config: `{"labels": {"team": "machine learning"}}`, at: `labels["team"]`,
			says: `labels["team"] is "machine learning"`},
		{name: "label value with trailing dash", config: `{"labels": {"team": "ml-"}}`, at: `labels["team"]`,
			says: "start and end with a letter or digit"},
		{name: "null label", config: `{"labels": {"team": null}}`, at: `labels["team"]`,
			says: `labels["team"] is null: set a value, or remove it.`},
		{name: "annotation key with blank", config: `{"annotations": {"my note": "x"}}`, at: `annotations["my note"]`,
			says: `a key of annotations is "my note"`},
		{name: "null annotation", config: `{"annotations": {"note": null}}`, at: `annotations["note"]`,
			says: "is null"},
		{name: "node selector value", config: `{"node_selector": {"zone": "eu west"}}`, at: `node_selector["zone"]`,
			says: `is "eu west"`},
		{name: "node selector key", config: `{"node_selector": {"zone:": "eu"}}`, at: `node_selector["zone:"]`,
			says: `a key of node_selector is "zone:"`},
		{name: "variable with leading digit", config: `{"env_vars": {"1BAD": "x"}}`, at: `env_vars["1BAD"]`,
			says: `a key of env_vars is "1BAD", but must be the name of an environment variable: letters, digits, ` +
				`underscores, dashes and dots that do not start with a digit`},
		{name: "variable with equals sign", config: `{"env_vars": {"A=B": "x"}}`, at: `env_vars["A=B"]`,
			says: `a key of env_vars is "A=B"`},
		{name: "variable without a name", config: `{"env_vars": {"": "x"}}`, at: `env_vars[""]`,
			says: "a key of env_vars is empty"},
		{name: "null variable", config: `{"env_vars": {"A": null}}`, at: `env_vars["A"]`, says: "is null"},
		{name: "variable from a secret", config: `{"secrets": [{"name": "hf", "env_vars": ["HF TOKEN"]}]}`,
			at: "secrets[0].env_vars[0]", says: `is "HF TOKEN", but must be the name of an environment variable`},
		{name: "null variable from a secret", config: `{"secrets": [{"name": "hf", "env_vars": [null]}]}`,
			at: "secrets[0].env_vars[0]", says: "is null"},
		{name: "no variables from a secret", config: `{"secrets": [{"name": "hf", "env_vars": []}]}`,
			at: "secrets[0].env_vars", says: "must contain at least 1 elements, got: 0"},
		{name: "queue name", config: `{"queue_name": "my queue"}`, at: "queue_name", says: `queue_name is "my queue"`},
		{name: "empty queue name", config: `{"queue_name": ""}`, at: "queue_name", says: "must be at least 1, got: 0"},
		{name: "no serialization", config: `{"allowed_serialization": []}`, at: "allowed_serialization",
			says: "must contain at least 1 elements, got: 0"},
		{name: "empty serialization", config: `{"allowed_serialization": ["json", ""]}`, at: "allowed_serialization[1]",
			says: "must be at least 1, got: 0"},
		{name: "serializations in one text", config: `{"allowed_serialization": ["json,pickle"]}`,
			at: "allowed_serialization[0]", says: `is "json,pickle"`},
		{name: "serialization twice", config: `{"allowed_serialization": ["json", "json"]}`,
			at: "allowed_serialization", says: `duplicate values of: "json"`},
		{name: "endpoint selector value", config: `{"endpoint": {"selector": {"role": "head node"}}}`,
			at: `endpoint.selector["role"]`, says: `is "head node"`},
		{name: "endpoint that selects all", config: `{"endpoint": {"selector": {}}}`, at: "endpoint.selector",
			says: "must contain at least 1 elements, got: 0"},
	}
}

func badChoices() []badInput {
	cases := []badInput{}
	for _, c := range []struct{ attribute, value, says string }{
		{"image_pull_policy", "always", `must be one of: ["Always" "IfNotPresent" "Never"], got: "always"`},
		{"on_not_ready", "fail", `must be one of: ["error" "warn" "ignore"], got: "fail"`},
		{"runtime", "ray", `must be one of: ["kubetorch" "skytorch" "kpu"], got: "ray"`},
	} {
		cases = append(cases, badInput{name: c.attribute, config: fmt.Sprintf("{%q: %q}", c.attribute, c.value),
			at: c.attribute, says: c.says})
	}
	return append(cases,
		badInput{name: "queue_scheduler", config: `{"queue_name": "q", "queue_scheduler": "volcano"}`,
			at: "queue_scheduler", says: `must be one of: ["kueue" "kai"], got: "volcano"`},
		badInput{name: "logging level", config: `{"logging": {"level": "TRACE"}}`, at: "logging.level",
			says: `must be one of: ["debug" "info" "warning" "error"], got: "TRACE"`},
		badInput{name: "read-only attribute", config: `{"url": "http://x"}`, at: "url",
			says: "Remove the configuration line"},
	)
}

func badCombinations() []badInput {
	return []badInput{
		{name: "gpu_memory beside gpus", config: `{"gpus": 1, "gpu_memory": "4Gi"}`, at: "gpu_memory",
			says: "set only one of the two"},
		{name: "anti-affinity beside gpus", config: `{"gpus": 1, "gpu_anti_affinity": true}`, at: "gpu_anti_affinity",
			says: "gpu_anti_affinity keeps the pods off GPU nodes, but gpus or gpu_memory requests GPUs"},
		{name: "anti-affinity beside gpu_memory", config: `{"gpu_memory": "4Gi", "gpu_anti_affinity": true}`,
			at: "gpu_anti_affinity", says: "remove one of the two"},
		{name: "endpoint with url and selector", config: `{"endpoint": {"url": "http://svc",
			"selector": {"app": "ray"}}}`, at: "endpoint.url", says: "set only one of the two"},
		{name: "empty endpoint", config: `{"endpoint": {}}`, at: "endpoint",
			says: "set url to an existing Service or Ingress, or selector"},
		{name: "mode of a secret", config: `{"secrets": [{"name": "ssh", "mount_path": "/a", "default_mode": "400"}]}`,
			at: "secrets[0].default_mode", says: `is "400", but must be four octal digits from 0000 to 0777`},
		{name: "mode that is no octal number", config: `{"secrets": [{"name": "ssh", "mount_path": "/a",
			"default_mode": "0480"}]}`, at: "secrets[0].default_mode", says: `four octal digits`},
		{name: "mode without files", config: `{"secrets": [{"name": "hf", "env_vars": ["A"], "default_mode": "0400"}]}`,
			at: "secrets[0].default_mode", says: "set mount_path, or remove default_mode"},
		{name: "secret that is not used", config: `{"secrets": [{"name": "hf"}]}`, at: "secrets[0]",
			says: "set env_vars, mount_path or both"},
		{name: "scheduler without queue", config: `{"queue_scheduler": "kai"}`, at: "queue_scheduler",
			says: "set queue_name too"},
	}
}

func badDuplicates() []badInput {
	return []badInput{
		{name: "two volumes at one path", config: `{"volumes": [{"claim_name": "a", "mount_path": "/data"},
			{"claim_name": "b", "mount_path": "/data"}]}`,
			at:   "volumes[1].mount_path",
			says: "volumes[1].mount_path is /data, where volumes[0] is already mounted: use another path."},
		{name: "two volumes at one path but for a slash", config: `{"volumes": [{"claim_name": "a",
			"mount_path": "/data"}, {"claim_name": "b", "mount_path": "/data/"}]}`,
			at: "volumes[1].mount_path", says: "volumes[0] is already mounted"},
		{name: "one claim twice at one path", config: `{"volumes": [{"claim_name": "a", "mount_path": "/data"},
			{"claim_name": "a", "mount_path": "/data"}]}`, at: "volumes[1].mount_path",
			says: "volumes[0] is already mounted"},
		{name: "secret and volume at one path", config: `{"secrets": [{"name": "hf", "mount_path": "/data"}],
			"volumes": [{"claim_name": "b", "mount_path": "/data"}]}`,
			at: "volumes[0].mount_path", says: "secrets[0] is already mounted"},
		{name: "volume over the shared memory", config: `{"volumes": [{"claim_name": "b", "mount_path": "/dev/shm"}]}`,
			at:   "volumes[0].mount_path",
			says: "volumes[0].mount_path is /dev/shm, where the shared memory is already mounted"},
		{name: "variable from env_vars and a secret", config: `{"env_vars": {"HF_TOKEN": "x"},
			"secrets": [{"name": "hf", "env_vars": ["OTHER", "HF_TOKEN"]}]}`,
			at:   "secrets[0].env_vars[1]",
			says: "secrets[0].env_vars[1] is HF_TOKEN, a variable that env_vars also sets: remove one of them."},
		{name: "variable twice from a secret", config: `{"secrets": [{"name": "hf",
			"env_vars": ["HF_TOKEN", "HF_TOKEN"]}]}`,
			at: "secrets[0].env_vars[1]", says: "a variable that secrets[0] also sets"},
		{name: "variable from two secrets", config: `{"secrets": [{"name": "a", "env_vars": ["KEY"]},
			{"name": "b", "env_vars": ["KEY"]}]}`,
			at: "secrets[1].env_vars[0]", says: "secrets[1].env_vars[0] is KEY, a variable that secrets[0] also sets"},
		{name: "duplicate beside an unknown item", config: `{"volumes": ["` + unknown +
			`", {"claim_name": "b", "mount_path": "/dev/shm"}]}`, at: "volumes[1].mount_path",
			says: "the shared memory is already mounted"},
	}
}

func badIdentity() []badInput {
	return []badInput{
		{name: "label of the service", config: `{"labels": {"kubetorch.com/service": "other"}}`, at: "labels",
			says: `labels sets kubetorch.com/service to "other", but it must be "trainer" here`},
		{name: "label of the manager", config: `{"labels": {"app.kubernetes.io/managed-by": "helm"}}`, at: "labels",
			says: "the provider finds its objects with it. Remove it."},
		{name: "label of the template", config: `{"labels": {"kubetorch.com/template": "ksvc"}}`, at: "labels",
			says: `it must be "deployment" here`},
		{name: "label of another queue", config: `{"queue_name": "a", "labels": {"kueue.x-k8s.io/queue-name": "b"}}`,
			at: "labels", says: "it is set from queue_name"},
		{name: "annotation of another ttl",
			config: `{"inactivity_ttl": "2h", "annotations": {"kubetorch.com/inactivity-ttl": "1h"}}`,
			at:     "annotations", says: "it is set from inactivity_ttl"},
		{name: "label beside something unknown", config: `{"image": "` + unknown +
			`", "labels": {"kubetorch.com/service": "other"}}`, at: "labels", says: `it must be "trainer" here`},
	}
}

func TestComputeReportsEachOfSeveralProblems(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	config := `{"name": "Bad", "memory": "4gb", "gpus": -1, "image": "a b", "gpu_type": "L 4", "launch_timeout": "1x",
		"queue_scheduler": "kai",
		"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}], "volumes": [{"claim_name": "a",
		"mount_path": "x"}],
		"autoscale": {"window": "2s", "target": 0, "min_scale": 2, "max_scale": 1}, "distribute": {"args": "[]"}, "image_setup": {"config_map": "c"}, "logging": {"poll_timeout": "x"}}`
	var at []string
	for _, f := range o.validate(t, "kt_compute", jsonConfig(t, o.types["kt_compute"], config)) {
		at = append(at, f.path)
	}
	slices.Sort(at)
	want := []string{
		"autoscale.min_scale", "autoscale.target", "autoscale.window", "distribute", "distribute.args", "gpu_type",
		"gpus", "image", "image_setup.digest", "launch_timeout",
		"logging.poll_timeout", "memory", "name", "queue_scheduler", "tolerations[0].value", "volumes[0].mount_path",
	}
	if !slices.Equal(at, want) {
		t.Errorf("errors at %q, want one at each of %q", at, want)
	}
}
