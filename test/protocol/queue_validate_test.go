package protocol_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// queueOf returns a kt_queue with the required attributes and further attributes as JSON.
func queueOf(more ...string) string {
	attributes := append([]string{`"name": "vision"`, flavorsOf(`"quotas": {"cpu": {"nominal": "8"}}`)}, more...)
	return "{" + strings.Join(attributes, ", ") + "}"
}

// queueWith returns a kt_queue with one flavor that has these attributes.
func queueWith(flavor string, more ...string) string {
	return "{" + strings.Join(append([]string{`"name": "vision"`, flavorsOf(flavor)}, more...), ", ") + "}"
}

func flavorsOf(flavors ...string) string {
	for i, flavor := range flavors {
		flavors[i] = `{"name": "` + string(rune('a'+i)) + `", ` + flavor + "}"
	}
	return `"flavors": [` + strings.Join(flavors, ", ") + "]"
}

// kaiOf returns the attribute kai with no limits, and further attributes, which override them.
func kaiOf(more string) string {
	out := "{" + more
	for _, name := range []string{"gpu", "cpu", "memory"} {
		if !strings.Contains(more, `"`+name+`"`) {
			out += `, "` + name + `": {"quota": "-1", "limit": "-1"}`
		}
	}
	return strings.Replace(out, "{, ", "{", 1) + "}"
}

func kaiQueue(inside string, more ...string) string {
	return "{" + strings.Join(append([]string{`"name": "vision"`, `"kai": ` + kaiOf(inside)}, more...), ", ") + "}"
}

func TestQueueReportsInvalidInputAtItsAttribute(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	const quotas = `"quotas": {"cpu": {"nominal": "8"}}`
	for _, c := range []badInput{
		{name: "no flavors", config: `{"name": "vision"}`, at: "flavors", text: "flavors is required"},
		{name: "flavors with kai", config: queueOf(`"kai": ` + kaiOf("")), at: "kai",
			text: `Attribute "flavors" cannot be specified when "kai" is specified`},
		{name: "a cohort with kai", config: kaiQueue("", `"cohort": "all"`), at: "kai", text: `"cohort" cannot be`},
		{name: "kai without a share", config: kaiQueue(`"cpu": null`), at: "kai.cpu",
			text: "Must set a configuration value"},
		{name: "the queue as its parent", config: kaiQueue(`"parent_queue": "vision"`), at: "kai.parent_queue",
			text: "is the queue itself"},
		{name: "an empty display name", config: kaiQueue(`"display_name": ""`), at: "kai.display_name",
			text: "at least 1"},
		{name: "a duration that is none", config: kaiQueue(`"preempt_min_runtime": "long"`),
			at: "kai.preempt_min_runtime", text: `kai.preempt_min_runtime is "long"`},
		{name: "a negative quota", config: kaiQueue(`"gpu": {"quota": "-2", "limit": "-1"}`), at: "kai.gpu.quota",
			text: "must not be negative"},
		{name: "a share without a limit", config: kaiQueue(`"gpu": {"quota": "1"}`), at: "kai.gpu.limit",
			text: "Must set a configuration value"},
		{name: "a negative weight", config: kaiQueue(`"cpu": {"quota": "1", "limit": "1", "over_quota_weight": -1}`),
			at: "kai.cpu.over_quota_weight", text: "at least 0"},
		{name: "empty flavors", config: `{"name": "vision", "flavors": []}`, at: "flavors", text: "at least one"},
		{name: "null flavor", config: `{"name": "vision", "flavors": [null]}`, at: "flavors[0]", text: "is null"},
		{name: "name longer than a label", config: strings.Replace(queueOf(), "vision", strings.Repeat("a", 64), 1),
			at: "name", text: "at most 63"},
		{name: "empty cohort", config: queueOf(`"cohort": ""`), at: "cohort", text: "cohort is empty"},
		{name: "namespace with a dot", config: queueOf(`"namespaces": ["ml.dev"]`), at: "namespaces[0]",
			text: `Did you mean "ml-dev"?`},
		{name: "namespace twice", config: queueOf(`"namespaces": ["ml", "ml"]`), at: "namespaces", text: "duplicate"},
		{name: "unknown strategy", config: queueOf(`"queueing_strategy": "FIFO"`), at: "queueing_strategy",
			text: "BestEffortFIFO"},
		{name: "unknown stop policy", config: queueOf(`"stop_policy": "Drain"`), at: "stop_policy",
			text: "HoldAndDrain"},
		{name: "weight that is no quantity", config: queueOf(`"fair_share_weight": "heavy"`), at: "fair_share_weight",
			text: `fair_share_weight is "heavy"`},
		{name: "no quotas", config: queueWith(`"quotas": {}`), at: "flavors[0].quotas", text: "at least 1"},
		{name: "a quota without its quantity", config: queueWith(`"quotas": {"cpu": {}}`),
			at: `flavors[0].quotas["cpu"].nominal`, text: "Must set a configuration value"},
		{name: "a quota that is no quantity", config: queueWith(`"quotas": {"memory": {"nominal": "4gb"}}`),
			at: `flavors[0].quotas["memory"].nominal`, text: `did you mean "4G"`},
		{name: "a quota of GPUs with a unit", config: queueWith(`"quotas": {"nvidia.com/gpu": {"nominal": "4Gi"}}`),
			at: `flavors[0].quotas["nvidia.com/gpu"].nominal`, text: "is 4Gi, but extended resources can only be"},
		{name: "a quota of half a GPU", config: queueWith(`"quotas": {"nvidia.com/gpu": {"nominal": "1.5"}}`),
			at: `flavors[0].quotas["nvidia.com/gpu"].nominal`, text: `without a unit, such as "4"`},
		{name: "a negative limit", config: queueWith(`"quotas": {"cpu": {"nominal": "1", "borrowing_limit": "-1"}}`,
			`"cohort": "all"`), at: `flavors[0].quotas["cpu"].borrowing_limit`, text: "must not be negative"},
		{name: "a resource that is no name", config: queueWith(`"quotas": {"a b": {"nominal": "1"}}`),
			at: `flavors[0].quotas["a b"]`, text: "a b"},
		{name: "a limit without a cohort", config: queueWith(
			`"quotas": {"cpu": {"nominal": "8", "borrowing_limit": "8"}}`),
			at: `flavors[0].quotas["cpu"].borrowing_limit`, text: "Set cohort, or remove the limit"},
		{name: "a lending limit above the quota", config: queueWith(
			`"quotas": {"cpu": {"nominal": "8", "lending_limit": "9"}}`, `"cohort": "all"`),
			at: `flavors[0].quotas["cpu"].lending_limit`, text: "exceeds nominal"},
		{name: "a flavor twice", config: `{"name": "vision", "flavors": [{"name": "a", ` + quotas +
			`}, {"name": "a", ` + quotas + "}]}", at: "flavors[1].name", text: "only once"},
		{name: "flavors with some common resources", config: `{"name": "vision", ` + flavorsOf(quotas,
			`"quotas": {"cpu": {"nominal": "1"}, "memory": {"nominal": "1Gi"}}`) + "}", at: "flavors[1].quotas",
			text: "add the missing ones"},
		{name: "a taint without an effect", config: queueWith(quotas + `, "node_taints": [{"key": "spot"}]`),
			at: "flavors[0].node_taints[0].effect", text: "Must set a configuration value"},
		{name: "a bad node label", config: queueWith(quotas + `, "node_labels": {"a": "b c"}`),
			at: `flavors[0].node_labels["a"]`, text: "the value of a label"},
		{name: "a toleration with a value and Exists", config: queueWith(quotas +
			`, "tolerations": [{"key": "spot", "operator": "Exists", "value": "x"}]`),
			at: "flavors[0].tolerations[0].value", text: "remove value"},
		{name: "unknown preemption", config: queueOf(`"preemption": {"within_cluster_queue": "Any"}`),
			at: "preemption.within_cluster_queue", text: "LowerPriority"},
		{name: "borrow_within_cohort without reclaim_within_cohort",
			config: queueOf(`"preemption": {"borrow_within_cohort":
			"LowerPriority"}`), at: "preemption.borrow_within_cohort", text: "reclaim_within_cohort"},
		{name: "a threshold above 32 bits", config: queueOf(`"preemption": {"reclaim_within_cohort": "Any",
			"borrow_within_cohort": "LowerPriority", "max_priority_threshold": 3000000000}`),
			at: "preemption.max_priority_threshold", text: "2147483647"},
		{name: "the provider's label", config: queueOf(`"labels": {"app.kubernetes.io/managed-by": "helm"}`),
			at: "labels", text: "finds its objects"},
		{name: "zero timeout", config: queueOf(`"timeouts": {"delete": "0s"}`), at: "timeouts.delete",
			text: "must be more than zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := o.validate(t, "kt_queue", jsonConfig(t, o.types["kt_queue"], c.config))
			if len(found) != 1 || found[0].severity != tfprotov6.DiagnosticSeverityError || found[0].path != c.at ||
				!strings.Contains(found[0].detail, c.text) || found[0].summary == "" {
				t.Errorf("%s gives %v\nwant one error at %s that contains: %s", c.config, found, c.at, c.text)
			}
		})
	}
}

func TestQueueAcceptsValidInput(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	const limited = `"quotas": {"nvidia.com/gpu": {"nominal": "0", "borrowing_limit": "0", "lending_limit": "0"}}`
	for name, config := range map[string]string{
		"required attributes": queueOf(),
		"flavors of two groups": `{"name": "vision", ` + flavorsOf(`"quotas": {"cpu": {"nominal": "1"}}`,
			`"quotas": {"memory": {"nominal": "1Gi"}}`) + "}",
		"a flavor for all nodes": queueWith(`"node_labels": {}, "quotas": {"cpu": {"nominal": "1"}}`),
		"everything": queueWith(limited+`, "node_labels": {"nvidia.com/gpu.product": "L4"}, "topology_name": "racks",
			"node_taints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}],
			"tolerations": [{"key": "spot", "effect": "NoExecute", "toleration_seconds": 30}, {"operator": "Exists"}]`,
			`"namespace": "ml", "namespaces": ["ml-dev"], "cohort": "all", "fair_share_weight": "500m",
			"admission_checks": ["budget"], "queueing_strategy": "StrictFIFO", "stop_policy": "Hold",
			"preemption": {"within_cluster_queue": "LowerOrNewerEqualPriority", "reclaim_within_cohort": "Any",
			"borrow_within_cohort": "LowerPriority", "max_priority_threshold": -1}, "labels": {"team": "vision"},
			"annotations": {"owner": "alice"}, "wait_for_active": false, "adopt_existing": true,
			"deletion_protection": true, "timeouts": {"create": "1m", "update": "90s", "delete": "1h30m"}`),
		"the required attributes of kai": kaiQueue(""),
		"everything of kai": kaiQueue(`"parent_queue": "ml", "display_name": "Vision", "priority": 0,
			"preempt_min_runtime": "0s", "reclaim_min_runtime": "1h", "gpu": {"quota": "0.5", "limit": "8",
			"over_quota_weight": 0.5}, "memory": {"quota": "64Gi", "limit": "1T", "over_quota_weight": 0}`,
			`"namespace": "ml", "labels": {"team": "vision"}`, `"adopt_existing": true`),
		"unknown kai":              `{"name": "vision", "kai": "` + unknown + `"}`,
		"unknown kai with flavors": queueOf(`"kai": "` + unknown + `"`),
		"an unknown share":         kaiQueue(`"gpu": "` + unknown + `"`),
		"an unknown quota of kai":  kaiQueue(`"gpu": {"quota": "` + unknown + `", "limit": "-1"}`),
		"an unknown parent":        kaiQueue(`"parent_queue": "` + unknown + `"`),
		"a name that is unknown with a parent": strings.Replace(kaiQueue(`"parent_queue": "ml"`), "vision", unknown,
			1),
		"limits with an unknown cohort": queueWith(limited, `"cohort": "`+unknown+`"`),
		"a lending limit above an unknown quota": queueWith(`"quotas": {"cpu": {"nominal": "`+unknown+
			`", "lending_limit": "1"}}`, `"cohort": "all"`),
		"unknown flavors":   `{"name": "vision", "flavors": "` + unknown + `"}`,
		"an unknown flavor": `{"name": "vision", "flavors": ["` + unknown + `", "` + unknown + `"]}`,
		"unknown quotas": `{"name": "vision", ` + flavorsOf(`"quotas": "`+unknown+`"`, limited) +
			`, "cohort": "all"}`,
		"an unknown quota":   queueWith(`"quotas": {"cpu": "` + unknown + `"}`),
		"unknown preemption": queueOf(`"preemption": "` + unknown + `"`),
		"unknown namespaces": queueOf(`"namespaces": "` + unknown + `"`),
		"an unknown policy": queueOf(`"preemption": {"borrow_within_cohort": "LowerPriority",
			"reclaim_within_cohort": "` + unknown + `"}`),
		"an unknown key of a toleration": queueWith(`"tolerations": [{"key": "` + unknown + `", "operator": "Equal",
			"value": "x"}], "quotas": {"cpu": {"nominal": "1"}}`),
		"an unknown effect of a toleration": queueWith(`"tolerations": [{"key": "a", "toleration_seconds": 30,
			"effect": "` + unknown + `"}], "quotas": {"cpu": {"nominal": "1"}}`),
		"unknown tolerations": queueWith(`"tolerations": ["` + unknown + `"], "quotas": {"cpu": {"nominal": "1"}}`),
		"unknown node labels": queueWith(`"node_labels": {"a": "` + unknown +
			`"}, "quotas": {"cpu": {"nominal": "1"}}`),
		"unknown names of flavors": `{"name": "vision", "flavors": [{"name": "` + unknown +
			`", "quotas": {"cpu": {"nominal": "1"}}}, {"name": "` + unknown +
			`", "quotas": {"cpu": {"nominal": "1"}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if found := o.validate(t, "kt_queue", jsonConfig(t, o.types["kt_queue"], config)); len(found) > 0 {
				t.Errorf("%s gives %v", config, found)
			}
		})
	}
}
