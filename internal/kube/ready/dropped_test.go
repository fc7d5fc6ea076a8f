package ready

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// An operator that omits a field runs the pod without it.
func TestFieldsThatTheOperatorOmitsAreNamed(t *testing.T) {
	t.Parallel()
	const excludes = `nodeSelectorTerms: [{matchExpressions: [{key: nvidia.com/gpu, operator: DoesNotExist}]}]`
	affinity := func(node, other string) string {
		return `{affinity: {nodeAffinity: {` + node + `}` + other + `}}`
	}
	server := func(fields string) string { return `{containers: [{name: server, ` + fields + `}]}` }
	volume := func(source string) string { return `{volumes: [{name: data, ` + source + `}]}` }
	for name, test := range map[string]struct{ want, have, omitted string }{
		"a label of nodes":          {`{nodeSelector: {a: "1", b: ""}}`, `{nodeSelector: {a: "1"}}`, "nodeSelector[b]"},
		"another value of a label":  {`{nodeSelector: {a: "1"}}`, `{nodeSelector: {a: "2"}}`, "nodeSelector[a]"},
		"the service account":       {`{serviceAccountName: a}`, `{serviceAccountName: b}`, "serviceAccountName"},
		"no service account":        {`{serviceAccountName: a}`, `{serviceAccountName: a}`, ""},
		"a default service account": {`{}`, `{serviceAccountName: default}`, ""},

		"a toleration":                {`{tolerations: [{key: spot}]}`, `{}`, "tolerations[0]"},
		"no toleration":               {`{tolerations: [{key: spot}]}`, `{tolerations: [{key: spot}]}`, ""},
		"a toleration of GPUs":        {`{tolerations: [{key: nvidia.com/gpu}]}`, `{}`, ""},
		"a toleration of GPU nodes":   {`{tolerations: [{key: dedicated, value: gpu}]}`, `{}`, ""},
		"a toleration of other nodes": {`{tolerations: [{key: dedicated, value: web}]}`, `{}`, "tolerations[0]"},
		"a toleration of a team":      {`{tolerations: [{key: team, value: gpu}]}`, `{}`, "tolerations[0]"},

		"an affinity that excludes": {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {`+excludes+`}`, ``),
			`{}`, ""},
		"an affinity": {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
		  {matchExpressions: [{key: zone, operator: Exists}]}]}`, ``), `{}`, "affinity"},
		"an affinity of fields": {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:
		  [{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}`, ``), `{}`, "affinity"},
		"a preferred affinity": {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {`+excludes+`},
		  preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]`, ``), `{}`, "affinity"},
		"an affinity without terms": {affinity(``, ``), `{}`, "affinity"},
		"an affinity to pods": {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {`+excludes+`}`,
			`, podAffinity: {}`), `{}`, "affinity"},
		"an anti-affinity": {affinity(`requiredDuringSchedulingIgnoredDuringExecution: {`+excludes+`}`,
			`, podAntiAffinity: {}`), `{}`, "affinity"},
		"an affinity only to pods": {`{affinity: {podAffinity: {}}}`, `{}`, "affinity"},
		"no affinity":              {`{affinity: {podAffinity: {}}}`, `{affinity: {podAffinity: {}}}`, ""},

		"a volume":                   {volume(`emptyDir: {}`), `{}`, "volumes[data]"},
		"a volume that became empty": {volume(`secret: {secretName: hf}`), volume(`emptyDir: {}`), "volumes[data]"},
		"a field of a volume":        {volume(`emptyDir: {medium: Memory}`), volume(`emptyDir: {}`), ""},
		"a pull secret":              {`{imagePullSecrets: [{name: a}]}`, `{}`, "imagePullSecrets[a]"},
		"a scheduling gate":          {`{schedulingGates: [{name: a}]}`, `{}`, "schedulingGates[a]"},
		"an init container":          {`{initContainers: [{name: a}]}`, `{}`, "initContainers[a]"},
		"a container":                {`{containers: [{name: a}]}`, `{containers: [{name: b}]}`, "containers[a]"},

		"the value of a variable": {server(`env: [{name: A, value: x}]`), server(`env: [{name: A, value: y}]`),
			"containers[server].env[A]"},
		"the reference of a variable": {server(`env: [{name: A, valueFrom: {}}]`), server(`env: [{name: A}]`),
			"containers[server].env[A]"},
		"no variable":  {server(`env: [{name: A, value: x}]`), server(`env: [{name: A, value: x}]`), ""},
		"no reference": {server(`env: [{name: A, valueFrom: {}}]`), server(`env: [{name: A, valueFrom: {}}]`), ""},
		"the path of a mount": {server(`volumeMounts: [{name: data, mountPath: /data}]`),
			server(`volumeMounts: [{name: data, mountPath: /other}]`), "containers[server].volumeMounts[/data]"},
		"the volume of a mount": {server(`volumeMounts: [{name: data, mountPath: /data}]`),
			server(`volumeMounts: [{name: other, mountPath: /data}]`), "containers[server].volumeMounts[/data]"},
		"a variable of another container": {server(`env: [{name: A, value: x}]`),
			`{containers: [{name: proxy}, {name: server, env: [{name: A, value: x}]}]}`, ""},
	} {
		compute, set := &operated{}, &appsv1.StatefulSet{}
		if err := yaml.UnmarshalStrict([]byte(test.want), &compute.Spec.Override); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := yaml.UnmarshalStrict([]byte(test.have), &set.Spec.Template.Spec); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := strings.Join(compute.dropped(set), " "); got != test.omitted {
			t.Errorf("%s: got %q, want %q", name, got, test.omitted)
		}
	}
}

func TestOmittedFieldsAreReturnedForTheError(t *testing.T) {
	t.Parallel()
	if got := Assess(load(t, "compute-dropped-one")).Cause.Fields; !slices.Equal(got, []string{"serviceAccountName"}) {
		t.Errorf("got %v", got)
	}
}
