package computes_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccPlanWarnsOfTheGPUsOfASurge(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	const serves = "args = [\"serve\"]\nport = 8000\nreplicas = 3\n"
	for name, c := range map[string]struct{ attributes, gpus string }{
		"percentage of pods":    {serves + "gpus = 2\nmax_surge = \"50%\"", "4 GPUs"},
		"no pod may be missing": {serves + "gpus = 2\nmax_unavailable = 0", "2 GPUs"},
		"the default":           {serves + "gpus = 2", ""},
		"without GPUs":          {serves + "max_surge = 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewAttachedCLI(t)
			cli.Write(t, cluster.Config(ns, acctest.BareCompute(c.attributes)))
			out := acctest.Unwrap(cli.MustRun(t, "plan"))
			if warns := strings.Contains(out, "An update needs additional GPUs"); warns != (c.gpus != "") ||
				!strings.Contains(out, c.gpus) {
				t.Errorf("warning shown: %t, want one of %q:\n%s", warns, c.gpus, out)
			}
		})
	}
}
