package acctest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"golang.org/x/sync/errgroup"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// Resources are the resources of one type in a state, by name. They are planned and
// applied without the CLI, with one provider for each plan and each apply.
type Resources struct {
	// Start starts the provider.
	Start func() (tfprotov6.ProviderServer, error)
	// Ignored is lifecycle.ignore_changes of each resource, by name.
	Ignored   map[string][]string
	typ       string
	block     string
	schemas   *core.Schemas // of the first provider
	resources map[string]*core.Resource
}

// parallel is how many resources Terraform works on at a time.
const parallel = 10

// Resources returns an empty state. The text more is added to the provider block of Config.
func (c *Cluster) Resources(t *testing.T, typ, ns, more string) *Resources {
	t.Helper()
	block := fmt.Sprintf("config_path = %q\nnamespace = %q\nusername = \"alice\"\n%s\n", c.Kubeconfig(), ns, more)
	return &Resources{Start: Factories(t)["kt"], typ: typ, block: block, resources: map[string]*core.Resource{}}
}

// each calls a function for several resources at a time, and returns the errors by name.
func (s *Resources) each(
	t *testing.T, names []string, do func(string, *core.Resource, *core.Command) error,
) map[string]error {
	t.Helper()
	server, err := s.Start()
	if err == nil && s.schemas == nil {
		s.schemas, err = core.SchemasOf(t.Context(), server)
	}
	if err != nil {
		t.Fatal(err)
	}
	command, err := s.schemas.Begin(t.Context(), server, s.block)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if s.resources[name] == nil {
			if s.resources[name], err = s.schemas.NewResource(s.typ); err != nil {
				t.Fatal(err)
			}
		}
	}
	var (
		mu     sync.Mutex
		group  errgroup.Group
		failed = map[string]error{}
	)
	group.SetLimit(parallel)
	for _, name := range names {
		group.Go(func() error {
			if err := do(name, s.resources[name], command); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[name] = err
			}
			return nil
		})
	}
	_ = group.Wait() // the errors are in failed
	return failed
}

// fail fails the test with all errors.
func fail(t *testing.T, failed map[string]error) {
	t.Helper()
	for name, err := range failed {
		t.Errorf("%s: %v", name, err)
	}
	if len(failed) > 0 {
		t.FailNow()
	}
}

// Plan plans the bodies of resource blocks.
func (s *Resources) Plan(t *testing.T, bodies map[string]string) map[string]*core.Plan {
	t.Helper()
	plans, failed := s.TryPlan(t, bodies)
	fail(t, failed)
	return plans
}

// TryPlan plans the bodies of resource blocks, and returns the plans and the errors.
func (s *Resources) TryPlan(t *testing.T, bodies map[string]string) (map[string]*core.Plan, map[string]error) {
	t.Helper()
	var mu sync.Mutex
	plans := map[string]*core.Plan{}
	failed := s.each(t, slices.Sorted(maps.Keys(bodies)), func(name string, r *core.Resource, c *core.Command) error {
		p, err := r.Plan(t.Context(), c, bodies[name], s.Ignored[name]...)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			plans[name] = p
		}
		return err
	})
	return plans, failed
}

// Apply applies plans.
func (s *Resources) Apply(t *testing.T, plans map[string]*core.Plan) {
	t.Helper()
	fail(t, s.TryApply(t, plans))
}

// TryApply applies plans, and returns the errors.
func (s *Resources) TryApply(t *testing.T, plans map[string]*core.Plan) map[string]error {
	t.Helper()
	return s.each(t, slices.Sorted(maps.Keys(plans)), func(name string, r *core.Resource, c *core.Command) error {
		_, err := r.Apply(t.Context(), c, plans[name])
		return err
	})
}

// Refresh updates the state of resources, as terraform apply -refresh-only does.
func (s *Resources) Refresh(t *testing.T, names []string) {
	t.Helper()
	fail(t, s.each(t, names, func(_ string, r *core.Resource, c *core.Command) error {
		return r.Refresh(t.Context(), c)
	}))
}

// Change plans and applies, checks that the plan after it is empty, and returns the
// applied plans.
func (s *Resources) Change(t *testing.T, bodies map[string]string) map[string]*core.Plan {
	t.Helper()
	plans := s.Plan(t, bodies)
	s.Apply(t, plans)
	s.ExpectNoChange(t, bodies)
	return plans
}

// ExpectNoChange checks that the plan is empty, also of what was unknown until the apply.
func (s *Resources) ExpectNoChange(t *testing.T, bodies map[string]string) {
	t.Helper()
	applied := map[string]string{}
	for name, body := range bodies {
		applied[name] = core.Applied(body)
	}
	for name, p := range s.Plan(t, applied) {
		if p.Action != core.NoOp {
			t.Fatalf("%s: the plan after the apply is not empty: %s of %q and %q", name, p.Action, p.Attributes(),
				AsPlan(t, p).Fields())
		}
	}
}

// AsPlan returns a plan for the checks of plans.
func AsPlan(t *testing.T, p *core.Plan) Plan {
	t.Helper()
	before, after, err := p.Decoded()
	if err != nil {
		t.Fatal(err)
	}
	return Plan{Before: before, After: after}
}

// Attribute returns an attribute of a resource in state.
func (s *Resources) Attribute(name, attribute string) any {
	return s.resources[name].Attribute(attribute)
}

// Import forgets resources, and imports the objects with their names.
func (s *Resources) Import(t *testing.T, ns string, names []string) {
	t.Helper()
	fail(t, s.each(t, names, func(name string, r *core.Resource, c *core.Command) error {
		r.Forget()
		return r.Import(t.Context(), c, ns+"/"+name)
	}))
}

// Source is a resource of another provider.
type Source struct {
	Provider, Type string
	State          string // as JSON
}

// Move moves resources of other providers to those with their names.
func (s *Resources) Move(t *testing.T, from map[string]Source) {
	t.Helper()
	names := slices.Sorted(maps.Keys(from))
	fail(t, s.each(t, names, func(name string, r *core.Resource, c *core.Command) error {
		return r.Move(t.Context(), c, from[name].Provider, from[name].Type, from[name].State)
	}))
}

// Destroy destroys all resources.
func (s *Resources) Destroy(t *testing.T) {
	t.Helper()
	names := slices.Sorted(maps.Keys(s.resources))
	var mu sync.Mutex
	plans := map[string]*core.Plan{}
	fail(t, s.each(t, names, func(name string, r *core.Resource, c *core.Command) error {
		p, err := r.PlanDestroy(t.Context(), c)
		mu.Lock()
		defer mu.Unlock()
		plans[name] = p
		return err
	}))
	s.Apply(t, plans)
}
