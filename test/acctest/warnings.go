package acctest

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Providers are the providers of a test case in terraform-plugin-testing.
type Providers = map[string]func() (tfprotov6.ProviderServer, error)

// Warnings records the diagnostics of the provider, which terraform-plugin-testing does not return.
type Warnings struct {
	mu   sync.Mutex
	seen []string
}

// Watch records the diagnostics of refreshes and applies.
func (w *Warnings) Watch(all Providers) Providers { return w.watch(all, false) }

// WatchPlans records the diagnostics of refreshes, applies and plans.
func (w *Warnings) WatchPlans(all Providers) Providers { return w.watch(all, true) }

func (w *Warnings) watch(all Providers, plans bool) Providers {
	watched := Providers{}
	for name, factory := range all {
		watched[name] = func() (tfprotov6.ProviderServer, error) {
			server, err := factory()
			return watchedServer{server, w, plans}, err
		}
	}
	return watched
}

type watchedServer struct {
	tfprotov6.ProviderServer
	warnings *Warnings
	plans    bool
}

func (s watchedServer) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	resp, err := s.ProviderServer.ReadResource(ctx, req)
	if resp != nil {
		s.warnings.add(resp.Diagnostics)
	}
	return resp, err
}

func (s watchedServer) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	resp, err := s.ProviderServer.PlanResourceChange(ctx, req)
	if resp != nil && s.plans {
		s.warnings.add(resp.Diagnostics)
	}
	return resp, err
}

func (s watchedServer) ApplyResourceChange(
	ctx context.Context, req *tfprotov6.ApplyResourceChangeRequest,
) (*tfprotov6.ApplyResourceChangeResponse, error) {
	resp, err := s.ProviderServer.ApplyResourceChange(ctx, req)
	if resp != nil {
		s.warnings.add(resp.Diagnostics)
	}
	return resp, err
}

func (w *Warnings) add(diagnostics []*tfprotov6.Diagnostic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range diagnostics {
		w.seen = append(w.seen, d.Summary+"\n"+d.Detail)
	}
}

// Text returns all diagnostics.
func (w *Warnings) Text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.seen, "\n")
}

// About returns the diagnostics about an object, by namespace/name.
func (w *Warnings) About(id string) string {
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

// Expect checks that the diagnostics about Trainer in a namespace contain every
// part, in which ID is replaced by namespace/name.
func (w *Warnings) Expect(ns string, parts ...string) PlanCheck {
	return func(Plan) error { return w.ExpectAbout(ns+"/trainer", parts...) }
}

// ExpectAbout is Expect for the object namespace/name.
func (w *Warnings) ExpectAbout(id string, parts ...string) error {
	wanted := make([]string, 0, len(parts))
	for _, part := range parts {
		wanted = append(wanted, strings.ReplaceAll(part, "ID", id))
	}
	return expectParts(w.About(id), wanted)
}

// ExpectText checks that the diagnostics contain every part.
func (w *Warnings) ExpectText(parts ...string) error { return expectParts(w.Text(), parts) }

func expectParts(found string, parts []string) error {
	for _, part := range parts {
		if !strings.Contains(found, part) {
			return fmt.Errorf("no warning contains %q; the warnings are:\n%s", part, found)
		}
	}
	return nil
}

// Reset removes all recorded diagnostics.
func (w *Warnings) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
}

// ExpectNone checks that no diagnostics were recorded.
func (w *Warnings) ExpectNone() PlanCheck {
	return func(Plan) error {
		if text := w.Text(); text != "" {
			return fmt.Errorf("unexpected warnings:\n%s", text)
		}
		return nil
	}
}
