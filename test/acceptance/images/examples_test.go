package images_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The reference shows these examples. Their images are those of a registry that the test serves.
func TestAccImageExamples(t *testing.T) {
	t.Parallel()
	served := serveRegistry(t, "")
	served.push("torch:1")
	replacer := strings.NewReplacer(`base       = "pytorch:26.06-py3"`, `image_id   = "`+served.host+`/torch:1"`,
		"nvcr.io/nvidia/pytorch:26.06-py3", served.host+"/torch:1")
	example := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{acctest.Root(), "examples"}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return replacer.Replace(string(text))
	}
	image := example("resources", "kt_image", "resource.tf") + example("resources", "kt_image", "dockerfile.tf")
	for name, config := range map[string]string{
		"kt_image": image, "kt_image_digest": example("data-sources", "kt_image_digest", "data-source.tf"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, cli := cluster.Namespace(t), acctest.NewCLI(t) // the images read files of the directory
			writeFile(t, filepath.Join(cli.Dir, "app", "main.py"), "")
			cli.Write(t, cluster.Config(ns, config))
			cli.MustRun(t, "apply", "-auto-approve")
			cli.MustRun(t, "plan", "-detailed-exitcode")
			if name == "kt_image" {
				cli.MustRun(t, "state", "rm", "kt_image.torch")
				imports := example("resources", "kt_image", "import-by-string-id.tf")
				cli.Write(t, cluster.Config(ns, config+strings.ReplaceAll(imports, `"ml/`, `"`+ns+`/`)))
				acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"), "1 imported, 0 added")
				cli.MustRun(t, "plan", "-detailed-exitcode")
			}
			cli.MustRun(t, "destroy", "-auto-approve")
		})
	}
}
