package actions_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// exampleRun is one apply of an example, and texts of its output.
type exampleRun struct {
	args  []string
	texts []string
}

func TestAccActionExamples(t *testing.T) {
	t.Parallel()
	invoked := func(action string, args ...string) []string {
		return append([]string{"-invoke=action." + action + ".trainer"}, args...)
	}
	for name, runs := range map[string][]exampleRun{
		"kt_restart": {
			{[]string{"-var=token=one"}, nil},
			{[]string{"-var=token=two", "-var=token_version=2"}, []string{"was restarted: 2 of 2 pods ready."}},
		},
		"kt_suspend": {{nil, nil}, {invoked("kt_suspend"), []string{"is suspended, and has no pods left."}}},
		"kt_resume": {{nil, nil}, {invoked("kt_suspend"), []string{"is suspended"}},
			{invoked("kt_resume"), []string{"is running: 2 of 2 pods ready."}}},
		"kt_scale":    {{nil, nil}, {invoked("kt_scale", "-var=replicas=4"), []string{"from 2 to 4 pods."}}},
		"kt_evacuate": {{nil, nil}, {invoked("kt_evacuate"), []string{"has no pods on node gpu-0"}}},
		"kt_trigger":  {{nil, nil}, {invoked("kt_trigger"), []string{"trainer-manual-", ": complete."}}},
		"kt_uncordon": {{invoked("kt_uncordon"), []string{"Node gpu-0 is already schedulable."}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := newCLI(t)
			on := cluster
			if name == "kt_evacuate" || name == "kt_uncordon" { // they change a node
				on = acctest.OwnCluster(t, "--node", "name=gpu-0")
			}
			cli.Setenv("KUBE_CONFIG_PATH", on.Started(t).Kubeconfig())
			cli.Setenv("KT_NAMESPACE", on.Namespace(t))
			cli.Copy(t, filepath.Join(acctest.Root(), "examples", "actions", name))
			for _, run := range runs {
				out, err := cli.Run(t, append([]string{"apply", "-auto-approve"}, run.args...)...)
				if err != nil {
					t.Fatalf("%v: %v\n%s", run.args, err, out)
				}
				acctest.ExpectText(t, out, run.texts...)
			}
		})
	}
}

// The other examples are tested with real pods.
func TestAccActionExamplesAreAllRun(t *testing.T) {
	t.Parallel()
	dirs, err := os.ReadDir(filepath.Join(acctest.Root(), "examples", "actions"))
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range []string{"examples_test.go", filepath.Join("..", "..", "e2e", "actions_test.go")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, dir := range dirs {
		if !regexp.MustCompile(`"` + dir.Name() + `":\s*\{`).MatchString(source.String()) { // a row of a table
			t.Errorf("no test runs examples/actions/%s", dir.Name())
		}
	}
}
