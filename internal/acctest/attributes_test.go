package acctest_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// stages are the attributes of one compute that belong together, as they are
// created and as they are changed. They are removed after that.
type stages struct {
	created, changed string
	// notImported are attributes that a live workload does not show.
	notImported []string
}

// everyAttribute has each attribute of the schema in some group.
func everyAttribute() map[string]stages {
	return map[string]stages{
		"requests": {
			created: "cpus = \"500m\"\nmemory = \"1Gi\"\ndisk_size = \"2Gi\"\nshared_memory_limit = \"256Mi\"",
			changed: "cpus = 2\nmemory = \"1500M\"\ndisk_size = \"3Gi\"\nshared_memory_limit = \"1Gi\"",
		},
		"gpus": {
			created: "gpus = 1\ngpu_type = \"NVIDIA-L4\"\nnode_selector = { \"kubernetes.io/os\" = \"linux\" }\ntolerations = [{ key = \"gpu-reserved\", operator = \"Exists\", effect = \"NoSchedule\" }]",
			changed: "gpus = 2\ngpu_type = \"nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3\"\ntolerations = [{ key = \"spot\", operator = \"Equal\", value = \"yes\", effect = \"NoExecute\", toleration_seconds = 60 }]",
			// The product is taken for a product, however it was written.
			notImported: []string{"gpu_type"},
		},
		"metadata": {
			created: "labels = { team = \"a\", cost = \"1\" }\nannotations = { \"prometheus.io/scrape\" = \"true\" }\nenv_vars = { OMP_NUM_THREADS = \"4\", EMPTY = \"\" }",
			changed: "labels = { team = \"b\" }\nannotations = { note = \"two words\" }\nenv_vars = { OMP_NUM_THREADS = \"8\", PATHS = \"$HOME/x\" }",
		},
		"files": {
			created: "secrets = [{ name = \"huggingface\", env_vars = [\"HF_TOKEN\"] }]\nvolumes = [{ claim_name = \"weights\", mount_path = \"/weights\" }]",
			changed: "secrets = [{ name = \"aws\", mount_path = \"/root/.aws\" }]\nvolumes = [{ claim_name = \"weights\", mount_path = \"/data\", read_only = true }]",
		},
		"pod": {
			created: "service_account_name = \"default\"\npriority_class_name = \"system-cluster-critical\"\nimage_pull_policy = \"Always\"\nworking_dir = \"/app\"\nimage = \"registry.example.com/a:1\"",
			changed: "service_account_name = \"default\"\nimage_pull_policy = \"Never\"\nworking_dir = \"/srv\"\nimage = \"registry.example.com/a:2\"",
		},
		"server": {
			created: "freeze = true\ninactivity_ttl = \"2h\"\nlaunch_timeout = \"2m\"\nlogging = { level = \"debug\" }\nallowed_serialization = [\"json\"]\ngpu_anti_affinity = true",
			changed: "freeze = false\ninactivity_ttl = \"1d\"\nlaunch_timeout = \"3m\"\nlogging = { level = \"error\" }\nallowed_serialization = [\"json\", \"pickle\"]\ngpu_anti_affinity = false",
			// Not being kept off GPU nodes is how every workload looks.
			notImported: []string{"gpu_anti_affinity"},
		},
		"queue": {
			created:     "queue_name = \"team-a\"\nqueue_scheduler = \"kueue\"\non_not_ready = \"ignore\"",
			changed:     "queue_name = \"team-b\"\nqueue_scheduler = \"kai\"\ngpu_memory = \"4Gi\"\non_not_ready = \"ignore\"",
			notImported: []string{"on_not_ready", "ready"},
		},
		"behaviour": {
			created:     "replicas = 2\nsuspend = true\nruntime = \"kubetorch\"\nadopt_existing = true\ndeletion_protection = true\nservice_template = jsonencode({ spec = { minReadySeconds = 1 } })\nendpoint = { url = \"http://example.com\" }\ntimeouts = { create = \"5m\" }\non_not_ready = \"error\"",
			changed:     "replicas = 2\nsuspend = false\nruntime = \"kubetorch\"\nadopt_existing = false\ndeletion_protection = false\nservice_template = jsonencode({ spec = { revisionHistoryLimit = 2 } })\nendpoint = { selector = { app = \"pool\" } }\ntimeouts = { update = \"6m\", delete = \"7m\" }\non_not_ready = \"warn\"",
			notImported: []string{"service_template", "endpoint", "url", "timeouts", "on_not_ready"},
		},
	}
}

func TestAccAttributesAreCreatedChangedImportedAndRemoved(t *testing.T) {
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	t.Parallel()
	for name, group := range everyAttribute() {
		t.Run(name, func(t *testing.T) {
			ns := cluster.Namespace(t)
			cluster.Apply(t, prerequisites, "-n", ns)
			config := func(attributes string) string {
				return cluster.Config(ns, "resource \"kt_compute\" \"trainer\" {\nname = \"trainer\"\n"+attributes+"\n}")
			}
			resource.ParallelTest(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{
					{Config: config(group.created), ConfigPlanChecks: expectAction(plancheck.ResourceActionCreate)},
					{Config: config(group.changed), ConfigPlanChecks: expectAction(plancheck.ResourceActionUpdate)},
					{
						ResourceName: trainer, ImportState: true, ImportStateVerify: true,
						ImportStateVerifyIgnore: append([]string{"manifests"}, group.notImported...),
					},
					{Config: config(removed(group.changed)), ConfigPlanChecks: expectAction(plancheck.ResourceActionUpdate)},
				},
			})
		})
	}
}

// removed keeps only what a compute on this cluster cannot do without.
func removed(attributes string) string {
	if strings.Contains(attributes, "kai") {
		return `on_not_ready = "ignore"`
	}
	return ""
}

func TestAccAttributesAreAllCovered(t *testing.T) {
	t.Parallel()
	server, err := acctest.Factories(t)["kt"]()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, group := range everyAttribute() {
		all.WriteString(group.created + "\n" + group.changed + "\n")
	}
	for _, attribute := range schema.ResourceSchemas["kt_compute"].Block.Attributes {
		if attribute.Name == "name" || attribute.Name == "namespace" || (attribute.Computed && !attribute.Optional) {
			continue // in every test, or not to be set
		}
		if !regexp.MustCompile(`(?m)^` + attribute.Name + ` = `).MatchString(all.String()) {
			t.Errorf("no group has the attribute %s", attribute.Name)
		}
	}
}
