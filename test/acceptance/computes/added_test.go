package computes_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccPlanWarnsOfAServerThatIsAddedToTheContainersOfAManifest(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	manifest := func(spec string) string {
		return acctest.Manifest("apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: " + spec + "}}")
	}
	for name, c := range map[string]struct {
		attributes string
		warns      bool
	}{
		"another container":               {manifest("{containers: [{name: app, image: 'mine:1'}]}"), true},
		"the main container":              {manifest("{containers: [{name: kubetorch, image: 'mine:1'}]}"), false},
		"both":                            {manifest("{containers: [{name: a, image: a}, {name: kubetorch}]}"), false},
		"another container, and an image": {manifest("{containers: [{name: app, image: a}]}") + "image = \"b\"", true},
		"another container, and a command": {manifest("{containers: [{name: app, image: a}]}") +
			"image = \"b\"\ncommand = [\"c\"]", false},
		"an init container": {manifest("{initContainers: [{name: app, image: a}]}"), false},
		"no container":      {manifest("{}"), false},
		"the first group of two": {acctest.Manifest("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: "+
			"{pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: a}]}}}}}") +
			"replicas = 4", false},
		"the workers": {acctest.Manifest("apiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  headGroupSpec: " +
			"{template: {spec: {containers: [{name: kubetorch, image: a}]}}}\n  workerGroupSpecs: [{groupName: w, " +
			"template: {spec: {containers: [{name: app, image: a}]}}}]"), true},
	} {
		body := map[string]string{"trainer": "name = \"trainer\"\n" + c.attributes}
		text := strings.Join(cluster.Resources(t, "kt_compute", ns, "").Plan(t, body)["trainer"].Warnings, "\n")
		shown := strings.Contains(text, "A server of Kubetorch is added to the pods")
		if shown != c.warns || shown && !strings.Contains(text, "(app)") {
			t.Errorf("%s: warning shown: %t, want %t, and the container app:\n%s", name, shown, c.warns, text)
		}
	}
}
