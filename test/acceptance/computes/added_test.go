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
		"another container, and an image": {manifest("{containers: [{name: app, image: a}]}") + "image = \"b\"", false},
		"an init container":               {manifest("{initContainers: [{name: app, image: a}]}"), false},
		"no container":                    {manifest("{}"), false},
	} {
		body := map[string]string{"trainer": "name = \"trainer\"\n" + c.attributes}
		text := strings.Join(cluster.Resources(t, "kt_compute", ns, "").Plan(t, body)["trainer"].Warnings, "\n")
		shown := strings.Contains(text, "A server of Kubetorch is added to the pods") && strings.Contains(text, "(app)")
		if shown != c.warns {
			t.Errorf("%s: warning shown: %t, want %t:\n%s", name, shown, c.warns, text)
		}
	}
}
