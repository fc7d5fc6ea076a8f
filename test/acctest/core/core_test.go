package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

var cluster = acctest.SharedCluster()

func TestMain(m *testing.M) { os.Exit(acctest.RunTests(m, cluster)) }

// recorder records the requests for plans and applies, without what differs between objects.
type recorder struct {
	tfprotov6.ProviderServer

	schema   *tfprotov6.Schema
	requests *[]string
}

var differs = regexp.MustCompile(`acc-\d+-\d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func (r recorder) record(kind string, private []byte, values ...*tfprotov6.DynamicValue) {
	var entries map[string]any
	_ = json.Unmarshal(private, &entries) // nothing at a creation
	text := fmt.Sprintf("%s %q", kind, slices.Sorted(maps.Keys(entries)))
	for _, v := range values {
		value, err := core.Text(r.schema, v)
		if err != nil {
			value = err.Error()
		}
		text += "\n\t" + differs.ReplaceAllString(value, "…")
	}
	*r.requests = append(*r.requests, text)
}

func (r recorder) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	r.record("plan", req.PriorPrivate, req.PriorState, req.ProposedNewState, req.Config)
	return r.ProviderServer.PlanResourceChange(ctx, req)
}

func (r recorder) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	r.record("apply", req.PlannedPrivate, req.PriorState, req.PlannedState, req.Config)
	return r.ProviderServer.ApplyResourceChange(ctx, req)
}

// recording returns a provider whose requests are recorded.
func recording(t *testing.T) (start func() (tfprotov6.ProviderServer, error), requests *[]string) {
	t.Helper()
	inner := acctest.Factories(t)["kt"]
	requests = &[]string{}
	return func() (tfprotov6.ProviderServer, error) {
		server, err := inner()
		if err != nil {
			return nil, err
		}
		schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
		if err != nil {
			return nil, err
		}
		return recorder{server, schemas.ResourceSchemas["kt_compute"], requests}, nil
	}, requests
}

const (
	unknown = `known_after_apply("x")`
	// later is a resource whose output is unknown in the plan that creates it, and then x.
	later = "resource \"terraform_data\" \"later\" {\n input = \"x\"\n}\n"
)

// steps are configurations with unknown values, and with null, computed and nested attributes that are added, changed
// and removed.
func steps() []string {
	return []string{
		`name = "a"
		 suspend = true
		 tolerations = [{ key = "a", operator = "Exists" }, { key = "b", value = "1" }]
		 labels = { team = "ml" }`,
		`name = "a"
		 suspend = true
		 replicas = 3
		 tolerations = [{ key = "b", value = "1" }]
		 distribute = { type = "pytorch", workers = 3 }`,
		`name = "a"
		 suspend = true
		 autoscale = null
		 annotations = { "example.com/a" = "" }`,
		`name = "a"
		 suspend = true
		 env_vars = { A = "b", LATER = ` + unknown + ` }
		 tolerations = [{ key = ` + unknown + `, operator = "Exists" }]
		 service_template = jsonencode({ metadata = { annotations = { later = ` + unknown + ` } } })`,
		`name = "b"
		 suspend = true`, // replaces it
	}
}

// The requests of this package must be those of Terraform, otherwise its tests prove nothing.
func TestAccRequestsAreThoseOfTheCLI(t *testing.T) {
	t.Parallel()
	start, byCLI := recording(t)
	ns := cluster.Namespace(t)
	var cliSteps []resource.TestStep
	for _, s := range steps() {
		config := "resource \"kt_compute\" \"a\" {\n" + s + "\n}\n"
		if strings.Contains(config, unknown) {
			config = later + strings.ReplaceAll(config, unknown, "terraform_data.later.output")
		}
		cliSteps = append(cliSteps, resource.TestStep{Config: cluster.Config(ns, config)})
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){"kt": start},
		Steps:                    cliSteps,
	})

	start, byCore := recording(t)
	computes := cluster.Resources(t, "kt_compute", cluster.Namespace(t), "")
	computes.Start = start
	for _, s := range steps() {
		computes.Change(t, map[string]string{"a": s})
	}
	computes.Destroy(t)

	want := slices.Compact(*byCLI) // the test framework plans several times
	got := slices.Compact(*byCore)
	if len(got) < 4*len(steps()) || !slices.Equal(got, want) {
		t.Errorf("requests:\n%s\n\nof the CLI:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
