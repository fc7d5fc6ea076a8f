package ready

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestKueueConfigExcludesTheKindsThatItDoesNotList(t *testing.T) {
	t.Parallel()
	const listed = `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks:
  - "batch/job"
  - "pod"
  - "deployment"
  - "ray.io/raycluster"
  externalFrameworks:
  - "JobSet.v1alpha2.jobset.x-k8s.io"
`
	for name, test := range map[string]struct {
		text, group, kind string
		want              bool
	}{
		"listed":                 {listed, "apps", "Deployment", false},
		"listed of a group":      {listed, "ray.io", "RayCluster", false},
		"not listed":             {listed, "apps", "StatefulSet", true},
		"not listed, of a group": {listed, "kubeflow.org", "PyTorchJob", true},
		"by its pods":            {listed, "apps", "DaemonSet", false},
		"Knative, by its pods":   {listed, "serving.knative.dev", "Service", false},
		"by its Jobs":            {listed, "batch", "CronJob", false},
		"external":               {listed, "jobset.x-k8s.io", "JobSet", false},
		"the default":            {"kind: Configuration", "apps", "StatefulSet", false},
		"no configuration":       {"", "apps", "StatefulSet", false},
		"not YAML":               {"{", "apps", "StatefulSet", false},
		"of another shape":       {"integrations: [deployment]", "apps", "StatefulSet", false},
	} {
		of := schema.GroupKind{Group: test.group, Kind: test.kind}
		if got := ParseKueueConfig(test.text).Excludes(of); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
