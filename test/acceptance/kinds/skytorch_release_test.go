package kinds_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	operators "github.com/ktdev/terraform-provider-kt/test/operator"
)

// The CRD of SkyTorch 0.1.0 has no fields for the tolerations of GPUs, node_selector and other attributes.
func TestAccTensorServerOnTheCRDOfSkyTorch010(t *testing.T) {
	t.Parallel()
	on := acctest.OwnCluster(t)
	on.Kubectl(t, "apply", "--server-side", "-f", acctest.Testdata("skytorch-0.1.0-compute-crd.yaml"))
	on.Established(t, "computes.compute.skytorch.dev")
	ns := on.Namespace(t)
	acctest.Operator{Release: operators.SkyTorch010(), Group: "compute.skytorch.dev"}.Run(t, on, ns)
	cli := acctest.NewAttachedCLI(t)
	write := func(attributes string) {
		cli.Write(t, on.Config(ns, acctest.BareCompute("runtime = \"skytorch\"\n"+attributes)))
	}

	write("image = \"mine:1\"\nmemory = \"1Gi\"\nenv_vars = { MODE = \"fast\" }")
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"), "Apply complete! Resources: 1 added")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	write("image = \"mine:1\"\ngpus = 1\non_not_ready = \"ignore\"")
	planned := acctest.Unwrap(cli.MustRun(t, "plan"))
	if strings.Contains(planned, "toleration") || strings.Contains(planned, "override =") {
		t.Errorf("the plan sets tolerations for GPUs, for which the installed CRD has no field:\n%s", planned)
	}
	cli.MustRun(t, "apply", "-auto-approve")
	if spec := on.Kubectl(t, "get", "computes/trainer", "-n", ns, "-o", "jsonpath={.spec}"); !strings.Contains(spec,
		`"nvidia.com/gpu":"1"`) ||
		strings.Contains(spec, "override") {
		t.Errorf("the Compute is %s", spec)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")

	for attribute, text := range map[string]string{
		"node_selector":        `node_selector = { zone = "a" }`,
		"gpu_type":             "gpus = 1\ngpu_type = \"NVIDIA-L4\"",
		"tolerations":          `tolerations = [{ key = "spot", operator = "Exists" }]`,
		"service_account_name": `service_account_name = "default"`,
		"volumes":              `volumes = [{ claim_name = "data", mount_path = "/data" }]`,
		"secrets":              `secrets = [{ name = "hf", mount_path = "/hf", default_mode = "0400" }]`,
		"volume_claim_templates": `volume_claim_templates = [{ name = "scratch", size = "1Gi", mount_path = ` +
			`"/scratch" }]`,
	} {
		write(text)
		cli.RunJSON(t, "plan").ExpectError(t, acctest.Trainer, false, attribute,
			"has no field in the installed Compute (CRD computes.compute.skytorch.dev, v1alpha1)",
			"install a newer operator")
	}
	write("image = \"mine:1\"")
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := on.Kubectl(t, "get", "computes", "-n", ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}
