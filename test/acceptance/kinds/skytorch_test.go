package kinds_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// clusterWith returns a cluster and a namespace in which the operators run.
func clusterWith(t *testing.T, operators ...acctest.Operator) (*acctest.Cluster, string) {
	t.Helper()
	on := withCRDs.WithComputes(t)
	ns := on.Namespace(t)
	for _, o := range operators {
		o.Run(t, on, ns)
	}
	return on, ns
}

const scratch = `
volume_claim_templates = [{ name = "scratch", size = "1Gi", mount_path = "/scratch" }]`

func TestAccTensorServerLifeCycle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operator  acctest.Operator
		lifeCycle acctest.LifeCycle
	}{
		"skytorch": {acctest.SkyTorch(), acctest.LifeCycle{
			Created: `
runtime  = "skytorch"
image    = "mine:1"
gpus     = 1
cpus     = "500m"
command  = ["/server"]
env_vars = { MODE = "fast" }
labels   = { team = "ml" }` + scratch,
			Changed: `
runtime  = "skytorch"
image    = "mine:2"
memory   = "1Gi"
args     = ["--limit", "1"]
env_vars = { MODE = "slow", MORE = "" }` + scratch,
			Kubectl: []string{"patch", "computes.compute.skytorch.dev/trainer", "--type=merge", "-p",
				`{"spec": {"suspend": true}}`},
			Drifts: []string{"suspend"},
		}},
		"kpu": {acctest.KPU(), acctest.LifeCycle{
			Created: `runtime = "kpu"`,
			Changed: "runtime = \"kpu\"\nimage = \"mine:2\"\nenv_vars = { MODE = \"fast\" }",
			Kubectl: []string{"patch", "computes.compute.kpu.dev/trainer", "--type=merge", "-p",
				`{"spec": {"labels": {"kubetorch.com/service": "other"}}}`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, ns := clusterWith(t, c.operator)
			c.lifeCycle.Mode, c.lifeCycle.Hidden = "compute", []string{"launch_timeout"}
			c.lifeCycle.Run(t, on, ns)
			if left := on.Kubectl(t, "get", "computes."+c.operator.Group, "-n", ns, "-o", "name"); left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

func TestAccTensorServerIsReachedByGRPC(t *testing.T) {
	t.Parallel()
	on, ns := clusterWith(t, acctest.SkyTorch())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             func(*terraform.State) error { return on.NoneLeft(t, ns) },
		Steps: []resource.TestStep{{
			Config: on.Config(ns, acctest.BareCompute(`
runtime  = "skytorch"
env_vars = { MODE = "fast", SKYTORCH_METRICS_SOURCES = "nvidia-gpu" }`)),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(acctest.Trainer, "grpc_target",
					"trainer."+ns+".svc.cluster.local:50051"),
				resource.TestCheckResourceAttr(acctest.Trainer, "service_name", "trainer"),
				resource.TestCheckNoResourceAttr(acctest.Trainer, "url"),
				resource.TestCheckNoResourceAttr(acctest.Trainer, "image"),
				resource.TestCheckNoResourceAttr(acctest.Trainer, "service_account_name"),
				resource.TestCheckResourceAttr(acctest.Trainer, "manifests.%", "1"),
				func(*terraform.State) error {
					got := on.Kubectl(t, "get", "pod/trainer-0", "-n", ns, "-o",
						"jsonpath={.spec.containers[0].env[*].name} {.metadata.labels.kubetorch\\.com/service}")
					if want := "MODE SKYTORCH_METRICS_SOURCES trainer"; got != want {
						return fmt.Errorf("the pod has %q, want %q", got, want)
					}
					return nil
				},
			),
		}},
	})
}

func TestAccTensorServerFailureIsExplained(t *testing.T) {
	t.Parallel()
	type failure struct{ attributes, message string }
	for group, c := range map[string]struct {
		exists   string
		failures map[string]failure // by name of the compute
	}{
		"pods": {"", map[string]failure{
			"crash": {`image = "broken.invalid/crash:1"`,
				`(?s)Compute \S+/crash is not ready.*exit code 1.*Pod \S+/crash-0.*logs crash-0 -c server.*No ` +
					`module named`},
			"image": {`image = "broken.invalid/pull:1"`,
				`(?s)broken.invalid/pull:1" cannot be pulled.*Pod \S+/image-0.*describe pod image-0`},
			"gpus": {`gpus = 9`, `(?s)9 nvidia.com/gpu.*Pod \S+/gpus-0`},
		}},
		"quota": {`{apiVersion: v1, kind: ResourceQuota, metadata: {name: gpus}, spec: {hard: ` +
			`{requests.nvidia.com/gpu: 1}}}`, map[string]failure{
			"limited": {`gpus = 2`,
				`(?s)Quota gpus of namespace.*StatefulSet \S+/limited.*describe resourcequota gpus`},
		}},
	} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			on, ns := clusterWith(t, acctest.SkyTorch())
			if c.exists != "" {
				on.Apply(t, c.exists, "-n", ns)
			}
			computes := on.Resources(t, "kt_compute", ns, "")
			bodies := func(attributes func(failure) string) map[string]string {
				all := map[string]string{}
				for name, f := range c.failures {
					all[name] = fmt.Sprintf("name = %q\nruntime = \"skytorch\"\nlaunch_timeout = \"2m\"\n%s", name,
						attributes(f))
				}
				return all
			}
			expectReady := func(image string) {
				t.Helper()
				computes.Change(t, bodies(func(failure) string { return image }))
				for name := range c.failures {
					if computes.Attribute(name, "ready") != true {
						t.Errorf("%s is not ready", name)
					}
				}
			}
			expectReady("")
			failed := computes.TryApply(t, computes.Plan(t, bodies(func(f failure) string { return f.attributes })))
			for name, f := range c.failures {
				if err := failed[name]; err == nil || !regexp.MustCompile(f.message).MatchString(err.Error()) {
					t.Errorf("%s: the error is %v, want one that matches %s", name, err, f.message)
				}
			}
			expectReady(`image = "mine:1"`)
			computes.Destroy(t)
			if err := on.NoneLeft(t, ns); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAccTensorServerReportsAMissingOperator(t *testing.T) {
	t.Parallel()
	on, ns := clusterWith(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t,
		on.Config(ns,
			strings.Replace(acctest.BareCompute(`runtime = "skytorch"`), "launch_timeout = \"2m\"",
				"timeouts = { create = \""+acctest.ShortTimeout+"\" }", 1)))
	applied := cli.RunJSON(t, "apply", "-auto-approve")
	acctest.ExpectDiagnostic(t, applied.Diagnostics("warning", acctest.Trainer), true,
		"has no condition Ready: its operator may not be running")
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccTensorServerIsReplacedIfItsOperatorCannotUpdateIt(t *testing.T) {
	t.Parallel()
	on, ns := clusterWith(t, acctest.SkyTorch(), acctest.KPU())
	replaces := acctest.PreApply(plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionReplace))
	updates := acctest.PreApply(plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate))
	step := func(attributes string, checks resource.ConfigPlanChecks) resource.TestStep {
		return resource.TestStep{Config: on.Config(ns, acctest.BareCompute(attributes)), ConfigPlanChecks: checks,
			Check: resource.TestCheckResourceAttr(acctest.Trainer, "ready", "true")}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             func(*terraform.State) error { return on.NoneLeft(t, ns) },
		Steps: []resource.TestStep{
			step("runtime = \"skytorch\""+scratch, resource.ConfigPlanChecks{}),
			step("runtime = \"skytorch\""+strings.Replace(scratch, `"/scratch"`, `"/data"`, 1), updates),
			step("runtime = \"skytorch\""+strings.Replace(scratch, "1Gi", "2Gi", 1), updates),
			step(`runtime = "skytorch"`, replaces),
			step(`runtime = "kpu"`, replaces),
			step(``, replaces),
		},
	})
}

func TestAccTensorServerWarnsThatClaimsAreNotUpdated(t *testing.T) {
	t.Parallel()
	on, ns := clusterWith(t, acctest.SkyTorch())
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, on.Config(ns, acctest.BareCompute("runtime = \"skytorch\""+scratch)))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, on.Config(ns, acctest.BareCompute("runtime = \"skytorch\""+strings.Replace(scratch, "1Gi", "2Gi", 1))))
	acctest.ExpectDiagnostic(t, cli.RunJSON(t, "plan").Diagnostics("warning", acctest.Trainer), false,
		"The claim is not changed", "scratch-trainer-0", "kubectl edit pvc scratch-trainer-0 -n "+ns)
	cli.MustRun(t, "destroy", "-auto-approve")
	if left := on.Kubectl(t, "get", "pvc", "-n", ns, "-o", "name"); left != "persistentvolumeclaim/scratch" {
		t.Errorf("the remaining claims are %q", left)
	}
}

func TestAccTensorServerReportsAttributesThatItsOperatorIgnores(t *testing.T) {
	t.Parallel()
	on, ns := clusterWith(t, acctest.SkyTorch())
	on.Kubectl(t, "create", "secret", "generic", "hf", "--from-literal=HF_TOKEN="+acctest.Canary, "-n", ns)
	cli := acctest.NewAttachedCLI(t)
	named := func(name, attributes string) string {
		return strings.ReplaceAll(acctest.BareCompute("runtime = \"skytorch\"\n"+attributes), "trainer", name)
	}
	fields := map[string]string{}
	config := ""
	for attribute, c := range map[string]struct{ text, field string }{
		"gpu_type":             {"gpus = 1\ngpu_type = \"NVIDIA-L4\"", "nodeSelector["},
		"node_selector":        {`node_selector = { zone = "a" }`, "nodeSelector[zone]"},
		"tolerations":          {`tolerations = [{ key = "spot", operator = "Exists" }]`, "tolerations[0]"},
		"service_account_name": {`service_account_name = "default-x"`, "serviceAccountName"},
		"secrets":              {`secrets = [{ name = "hf", mount_path = "/hf" }]`, "volumes[secrets-hf]"},
		"image_pull_secrets":   {`image_pull_secrets = ["registry"]`, "imagePullSecrets[registry]"},
		"service_template": {`service_template = jsonencode({ spec = { override = { imagePullSecrets = [{ name ` +
			`= "pull" }] } } })`, "imagePullSecrets[pull]"},
	} {
		fields[attribute] = c.field
		config += named(strings.ReplaceAll(attribute, "_", "-"), c.text)
	}
	config += named("warned", "gpus = 1\non_not_ready = \"warn\"\nnode_selector = { zone = \"a\" }")
	cli.Write(t, on.Config(ns, config))
	planned, applied := cli.RunJSON(t, "plan"), cli.RunJSON(t, "apply", "-auto-approve")
	for attribute, field := range fields {
		address := "kt_compute." + strings.ReplaceAll(attribute, "_", "-")
		if attribute != "service_template" {
			acctest.ExpectDiagnostic(t, planned.Diagnostics("warning", address), false,
				"The SkyTorch operator may ignore this attribute")
		}
		applied.ExpectError(t, address, false, "The operator does not apply "+attribute, "spec.override."+field)
	}
	if failed := applied.Diagnostics("error", "kt_compute.warned"); len(failed) > 0 {
		t.Errorf("on_not_ready = warn: %s", failed)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccTensorServersThatShareAClaimAreReported(t *testing.T) {
	t.Parallel()
	on, ns := clusterWith(t, acctest.SkyTorch())
	cli := acctest.NewAttachedCLI(t)
	both := on.Config(ns, acctest.BareCompute("runtime = \"skytorch\""+scratch)) + "\n" + strings.NewReplacer(
		`"trainer" {`, `"other" {`, `"trainer"`, `"other"`).Replace(acctest.BareCompute("runtime = \"skytorch\""+
		scratch))
	cli.Write(t, both)
	planned := cli.RunJSON(t, "plan")
	if !strings.Contains(planned.String(), "The claim is shared") {
		t.Errorf("the plan does not report the claim that two computes share:\n%s", planned)
	}
	on.Apply(t,
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: scratch}, spec: {accessModes: `+
			`[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`, "-n", ns)
	cli.Write(t, on.Config(ns, acctest.BareCompute("runtime = \"skytorch\""+scratch)))
	acctest.ExpectDiagnostic(t, cli.RunJSON(t, "plan").Diagnostics("warning", acctest.Trainer), false,
		"The claim is shared", "the claim exists")
}

func TestAccTensorServerFailsEarlyIfItsStatefulSetIsRejected(t *testing.T) {
	t.Parallel()
	on, ns := clusterWith(t, acctest.SkyTorch())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             func(*terraform.State) error { return on.NoneLeft(t, ns) },
		Steps: []resource.TestStep{{
			Config: on.Config(ns, strings.Replace(acctest.BareCompute(`
runtime          = "skytorch"
service_template = jsonencode({ spec = { env = [
  { name = "A", valueFrom = { fieldRef = { fieldPath = "metadata.name" } } }] } })`), `"2m"`, `"10m"`, 1)),
			ExpectError: regexp.MustCompile(`(?s)StatefulSetNotAvailable.*StatefulSet\s+is\s+not\s+available`),
		}},
	})
}

// pythonCompute is a Compute as the Python client of KPU applies it.
const pythonCompute = `
apiVersion: compute.kpu.dev/v1alpha1
kind: Compute
metadata: {name: trainer}
spec: {image: "python:1", suspend: false, env: [{name: MODE, value: fast}]}`

func TestAccTensorServerOfThePythonClientIsAdoptedOrImported(t *testing.T) {
	t.Parallel()
	const same = "runtime = \"kpu\"\nimage = \"python:1\"\nenv_vars = { MODE = \"fast\" }"
	is := resource.ComposeAggregateTestCheckFunc(
		resource.TestCheckResourceAttr(acctest.Trainer, "ready", "true"),
		resource.TestCheckResourceAttr(acctest.Trainer, "image", "python:1"),
		resource.TestCheckResourceAttr(acctest.Trainer, "mode", "compute"),
	)
	for name, steps := range map[string]func(on *acctest.Cluster, ns string) []resource.TestStep{
		"by adoption": func(on *acctest.Cluster, ns string) []resource.TestStep {
			return []resource.TestStep{
				{Config: on.Config(ns, acctest.BareCompute(same)),
					ExpectError: regexp.MustCompile(`(?s)Compute \S+/trainer was not created by this provider.*` +
						`kpu-python-client`)},
				{Config: on.Config(ns, acctest.BareCompute(same+"\nadopt_existing = true")), Check: is},
			}
		},
		"by import": func(on *acctest.Cluster, ns string) []resource.TestStep {
			return []resource.TestStep{
				{Config: on.Config(ns, acctest.BareCompute(same)), ResourceName: acctest.Trainer, ImportState: true,
					ImportStateId: ns + "/trainer", ImportStatePersist: true},
				{
					Config: on.Config(ns, acctest.BareCompute(same)),
					ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(acctest.Trainer,
						plancheck.ResourceActionUpdate)),
					Check: is,
				},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, ns := clusterWith(t, acctest.KPU())
			on.Apply(t, pythonCompute, "-n", ns, "--server-side", "--field-manager=kpu-python-client")
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				CheckDestroy:             func(*terraform.State) error { return on.NoneLeft(t, ns) },
				Steps:                    steps(on, ns),
			})
			if left := on.Kubectl(t, "get", "computes.compute.kpu.dev,services,statefulsets,pods", "-n", ns, "-o",
				"name"); left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// The CRDs are not installed in this cluster.
func TestAccTensorServerWithoutItsCRDIsAWarningInThePlanAndAnErrorInTheApply(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.BareCompute(`runtime = "skytorch"`)))
	planned := cli.RunJSON(t, "plan")
	if planned.Failed || planned.Planned[acctest.Trainer] != "create" {
		t.Fatalf("the plan failed:\n%s", planned)
	}
	texts := []string{"The cluster does not serve Compute",
		"Install the SkyTorch operator (https://github.com/astefanutti/skytorch), which provides the required CRD " +
			"computes.compute.skytorch.dev", "kubectl api-resources --api-group=compute.skytorch.dev"}
	acctest.ExpectDiagnostic(t, planned.Diagnostics("warning", acctest.Trainer), false, texts...)
	applied := cli.RunJSON(t, "apply", "-auto-approve")
	applied.ExpectError(t, acctest.Trainer, false, texts...)
}
