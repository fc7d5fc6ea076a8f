package acctest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// namespace is a namespace of the test's own in the shared cluster.
func namespace(t *testing.T) string {
	t.Helper()
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	return cluster.Namespace(t)
}

type providers = map[string]func() (tfprotov6.ProviderServer, error)

// witness notes what the provider warns of while it refreshes, which
// terraform-plugin-testing doesn't hand over.
type witness struct {
	mu   sync.Mutex
	seen []string
}

func (w *witness) watch(all providers) providers {
	watched := providers{}
	for name, factory := range all {
		watched[name] = func() (tfprotov6.ProviderServer, error) {
			server, err := factory()
			return watchedServer{server, w}, err
		}
	}
	return watched
}

type watchedServer struct {
	tfprotov6.ProviderServer
	witness *witness
}

func (s watchedServer) ReadResource(ctx context.Context, req *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	if resp != nil {
		s.witness.note(resp.Diagnostics)
	}
	return resp, err
}

func (s watchedServer) ApplyResourceChange(ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := s.ProviderServer.ApplyResourceChange(ctx, req)
	if resp != nil {
		s.witness.note(resp.Diagnostics)
	}
	return resp, err
}

// watchPlans is watch for what plans warn of as well.
func (w *witness) watchPlans(all providers) providers {
	watched := providers{}
	for name, factory := range w.watch(all) {
		watched[name] = func() (tfprotov6.ProviderServer, error) {
			server, err := factory()
			return plannedServer{server, w}, err
		}
	}
	return watched
}

type plannedServer struct {
	tfprotov6.ProviderServer
	witness *witness
}

func (s plannedServer) PlanResourceChange(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := s.ProviderServer.PlanResourceChange(ctx, req)
	if resp != nil {
		s.witness.note(resp.Diagnostics)
	}
	return resp, err
}

func (w *witness) note(diagnostics []*tfprotov6.Diagnostic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range diagnostics {
		w.seen = append(w.seen, d.Summary+"\n"+d.Detail)
	}
}

func (w *witness) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.seen, "\n")
}

// about returns what was said of namespace/name.
func (w *witness) about(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, text := range w.seen {
		if strings.Contains(text, id+" ") || strings.Contains(text, id+": ") {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// expect checks that each part stands in a warning about the trainer of a
// namespace, for which ID stands.
func (w *witness) expect(ns string, parts ...string) planCheck {
	return func(plan) error { return w.says(ns+"/trainer", parts...) }
}

func (w *witness) says(id string, parts ...string) error {
	said := w.about(id)
	for _, part := range parts {
		if part = strings.ReplaceAll(part, "ID", id); !strings.Contains(said, part) {
			return fmt.Errorf("no warning says %q; there are:\n%s", part, said)
		}
	}
	return nil
}

// forget leaves out what was said so far.
func (w *witness) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
}

func (w *witness) expectNothing() planCheck {
	return func(plan) error {
		if text := w.text(); text != "" {
			return fmt.Errorf("unexpected warnings:\n%s", text)
		}
		return nil
	}
}

// plan is what is planned for one compute: its attributes before and after.
type plan struct {
	before, after map[string]any
	imports       bool
}

// planCheck looks at the plan of the trainer.
type planCheck func(plan) error

func (check planCheck) CheckPlan(ctx context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	planChecks{"trainer": check}.CheckPlan(ctx, req, resp)
}

// planChecks look at the plans of several computes, by name.
type planChecks map[string]planCheck

func (checks planChecks) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		err := errors.New("the plan does not have it")
		for _, r := range req.Plan.ResourceChanges {
			if r.Address == "kt_compute."+name {
				before, _ := r.Change.Before.(map[string]any)
				after, _ := r.Change.After.(map[string]any)
				err = checks[name](plan{before, after, r.Change.Importing != nil})
			}
		}
		if err != nil {
			resp.Error = errors.Join(resp.Error, fmt.Errorf("%s: %w", name, err))
		}
	}
}

// shows checks that the plan changes these attributes besides manifests, and
// these fields in manifests, each with the kind of the object before it, and
// nothing else.
func shows(attributes, fields []string) planCheck {
	return func(p plan) error {
		return errors.Join(p.changesOnly(attributes...), sameElements("fields of manifests", p.fields(), fields))
	}
}

// changesOnly checks which attributes change besides manifests and ready.
func (p plan) changesOnly(attributes ...string) error {
	var changed []string
	for name := range p.before {
		if name != "manifests" && name != "ready" && !reflect.DeepEqual(p.before[name], p.after[name]) {
			changed = append(changed, name)
		}
	}
	return sameElements("attributes", changed, attributes)
}

func sameElements(what string, got, want []string) error {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("the plan changes the %s\n  %q,\nbut should change\n  %q", what, got, want)
}

// fields lists what changes in manifests: Deployment spec.replicas.
func (p plan) fields() []string {
	before, _ := p.before["manifests"].(map[string]any)
	after, _ := p.after["manifests"].(map[string]any)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(union(before, after))) {
		kind, _, _ := strings.Cut(key, "/")
		for _, path := range differences(kind+" ", decoded(before[key]), decoded(after[key])) {
			all = append(all, strings.TrimSuffix(path, " "))
		}
	}
	return all
}

func decoded(manifest any) any {
	text, _ := manifest.(string)
	var v any
	_ = json.Unmarshal([]byte(text), &v) // no object stays nil
	return v
}

// differences returns the paths of the fields that differ. A list whose length
// differs is one field.
func differences(path string, a, b any) []string {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return []string{path}
		}
		var all []string
		for name := range union(a, b) {
			all = append(all, differences(join(path, name), a[name], b[name])...)
		}
		return all
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return []string{path}
		}
		var all []string
		for i := range a {
			all = append(all, differences(join(path, fmt.Sprint(i)), a[i], b[i])...)
		}
		return all
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []string{path}
}

func join(path, name string) string {
	if strings.HasSuffix(path, " ") {
		return path + name
	}
	return path + "." + name
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return all
}

// liveObjects are all that the Deployments and Services of a namespace hold, but
// for what the server alone writes, by name, with NAME for it.
func liveObjects(t *testing.T, ns string) map[string]string {
	t.Helper()
	var list struct {
		Items []map[string]any `json:"items"`
	}
	text := cluster.Kubectl(t, "get", "deployments,services", "-n", ns, "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, item := range list.Items {
		metadata, _ := item["metadata"].(map[string]any)
		name := fmt.Sprint(metadata["name"])
		for _, field := range []string{"resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"} {
			delete(metadata, field)
		}
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, "deployment.kubernetes.io/revision")
			delete(annotations, kube.CreationAnnotation) // differs by creation
			if len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
		spec, _ := item["spec"].(map[string]any)
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
		delete(item, "status")
		out, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		all[name] += strings.ReplaceAll(string(out), name, "NAME") + "\n"
	}
	return all
}

// withDefaults is a configuration with more in its provider block.
func withDefaults(ns, block, config string) string {
	return strings.Replace(cluster.Config(ns, config), "provider \"kt\" {", "provider \"kt\" {\n"+block, 1)
}
