package lifecycle_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// short is the short path of kt_thing, and a server that encodes its values.
type short struct {
	lifecycle.ShortPath
	*server

	resource *thingResource
}

func newShort(t *testing.T, h *hooks) *short {
	t.Helper()
	data := dataAt(t, kubetest.NewServer(t).URL)
	one := &thingResource{Kind: lifecycle.Kind{Type: "kt_thing", Noun: "thing", Attributes: attributes}, Hooks: h}
	if h.configure != nil {
		h.configure(one)
	}
	path, err := one.NewShortPath(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	return &short{ShortPath: path, server: configured(t, data, &hooks{}), resource: one}
}

// bytes returns a state, plan or configuration in MessagePack.
func (s *short) bytes(attributes map[string]any) []byte { return s.value(attributes).MsgPack }

// asConfigured returns the attributes in state without those that the configuration omits.
func asConfigured(changes map[string]any) map[string]any {
	out := inState(changes)
	out["id"], out["uid"], out["manifests"] = nil, nil, nil
	return out
}

func raw(values map[string]string) map[string][]byte {
	out := map[string][]byte{}
	for key, value := range values {
		out[key] = []byte(value)
	}
	return out
}

func TestShortPathAcceptsOnlyValidConfigurations(t *testing.T) {
	t.Parallel()
	rejects := func(*model) diag.Diagnostics { return diag.Diagnostics{diag.NewWarningDiagnostic("Noted", "")} }
	for name, c := range map[string]struct {
		config   map[string]any
		validate func(*model) diag.Diagnostics
		want     bool
	}{
		"valid":                  {asConfigured(nil), nil, true},
		"not fully known":        {asConfigured(map[string]any{"size": tftypes.UnknownValue}), nil, false},
		"without a name":         {asConfigured(map[string]any{"name": nil}), nil, false},
		"a warning of the hooks": {asConfigured(nil), rejects, false},
	} {
		s := newShort(t, &hooks{validate: c.validate})
		if got := s.Valid(t.Context(), s.bytes(c.config)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if s.Valid(t.Context(), []byte{1}) {
			t.Error("no object is valid")
		}
	}
}

func TestShortPathReadsOnlyWhatDoesNotChange(t *testing.T) {
	t.Parallel()
	recorded := map[string]string{"cluster": `{"uid":"` + kubetest.ClusterUID + `"}`}
	noted := func(r *reading) error { r.Diags.AddWarning("Noted", ""); return nil }
	with := func(changes map[string]string) map[string]string {
		out := maps.Clone(recorded)
		maps.Copy(out, changes)
		return out
	}
	for name, c := range map[string]struct {
		state   map[string]any
		private map[string]string
		refresh func(*reading) error
		want    bool
	}{
		"unchanged":             {inState(nil), recorded, nil, true},
		"an unrecorded cluster": {inState(nil), nil, nil, false},
		"another cluster":       {inState(nil), map[string]string{"cluster": `{"uid":"other"}`}, nil, false},
		"a warning":             {inState(nil), recorded, noted, false},
		"a failure": {inState(nil), recorded, func(*reading) error { return errors.New("reset") },
			false},
		"gone":                     {inState(nil), recorded, func(*reading) error { return owned.ErrGone }, false},
		"an import":                {inState(map[string]any{"manifests": nil}), recorded, nil, false},
		"an unknown value":         {inState(map[string]any{"size": tftypes.UnknownValue}), recorded, nil, false},
		"unreadable private state": {inState(nil), with(map[string]string{"notes": "["}), nil, false},
		"a changed state": {inState(nil), recorded, func(r *reading) error {
			r.State.Size = types.StringValue("2")
			return nil
		}, false},
		"a changed memory": {inState(nil), recorded, func(r *reading) error {
			r.Memory["a"] = owned.Entry{UID: "u"}
			return nil
		}, false},
		"the same private state": {inState(nil), with(map[string]string{"notes": `{"visits":1}`}),
			func(r *reading) error {
				if !r.Short || r.PrivateState.Visits != 1 {
					t.Errorf("reading %+v", r)
				}
				r.PrivateState.Visits = 1
				return nil
			}, true},
		"a changed private state": {inState(nil), with(map[string]string{"notes": `{"visits":1}`}),
			func(r *reading) error { r.PrivateState.Visits = 2; return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hooks{refresh: c.refresh}
			s := newShort(t, h)
			identity, got := s.Read(t.Context(), s.bytes(c.state), raw(c.private))
			if got != c.want || got && identity.ID().ValueString() != "ml/x" {
				t.Errorf("%t, identity %v, called %v", got, identity, h.called)
			}
			for _, called := range h.called {
				if called == "import" {
					t.Error("the short path imports")
				}
			}
		})
	}
}

func TestShortPathAllowsThatPrivateStateIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := newShort(t, &hooks{refresh: func(r *reading) error {
		r.Memory["a"] = owned.Entry{UID: "1", Set: []byte{}} // the same JSON
		return nil
	}})
	for applied, want := range map[string]bool{`{"a":{"uid":"1"}}`: true, `{"a": {"uid":"1"}}`: false} {
		_, got := s.Read(t.Context(), s.bytes(inState(nil)), raw(map[string]string{"applied": applied,
			"cluster": `{"uid":"` + kubetest.ClusterUID + `"}`}))
		if got != want {
			t.Errorf("%s: %t", applied, got)
		}
	}
}

func TestShortPathPlansOnlyWhatDoesNotChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proposed, config map[string]any
		private          map[string]string
		plan             func(*planning)
		want             bool
	}{
		"unchanged": {inState(nil), asConfigured(nil), nil, func(p *planning) {
			if !p.Short() || !p.ConfigKnown() || p.Creating || p.PrivateState.Visits != 0 ||
				p.Config.Size.ValueString() != "1" {
				t.Errorf("planning %+v", p)
			}
		}, true},
		"another proposal": {inState(map[string]any{"size": "2"}), asConfigured(nil), nil, nil, false},
		"an unknown configuration": {inState(nil), asConfigured(map[string]any{"size": tftypes.UnknownValue}), nil,
			nil, false},
		"a warning": {inState(nil), asConfigured(nil), nil, func(p *planning) {
			p.Diags.AddWarning("Noted", "")
		}, false},
		"a replacement": {inState(nil), asConfigured(nil), nil, func(p *planning) {
			p.Replace.Append(path.Root("size"))
		}, false},
		"a changed plan": {inState(nil), asConfigured(nil), nil, func(p *planning) {
			p.Plan.Size = types.StringValue("2")
		}, false},
		"a changed private state": {inState(nil), asConfigured(nil), nil, func(p *planning) {
			p.PrivateState.Visits = 1
			p.SavePrivateState(t.Context())
		}, false},
		"another namespace": {inState(nil), asConfigured(map[string]any{"namespace": "web"}), nil, nil, false},
		"an earlier change": {inState(nil), asConfigured(nil), nil, func(p *planning) {
			p.PrivateState.Visits = 1
			p.SavePrivateState(t.Context())
			p.PrivateState.Visits = 0
			p.SavePrivateState(t.Context())
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShort(t, &hooks{plan: c.plan})
			values := raw(c.private)
			keep, got := s.Plan(t.Context(), s.bytes(c.config), s.bytes(inState(nil)), s.bytes(c.proposed), values)
			if got != c.want || (keep != nil) != c.want || len(values) > 0 {
				t.Fatalf("%t, private state %v", got, values)
			}
			if keep != nil && (!keep() || keep()) {
				t.Error("the resource is not kept exactly once")
			}
		})
	}
	s := newShort(t, &hooks{})
	state := s.bytes(inState(map[string]any{"size": tftypes.UnknownValue}))
	if _, got := s.Plan(t.Context(), s.bytes(asConfigured(nil)), state, state, nil); got {
		t.Error("an unknown state is planned")
	}
}

// Terraform proposes the prior value of an attribute that the configuration omits, and the framework its default.
func TestShortPathLeavesDefaultsAndDerivedValuesToTheirOwners(t *testing.T) {
	t.Parallel()
	s := newShort(t, &hooks{configure: func(r *thingResource) { r.Kind.FromConfig = []string{"size"} }})
	_, got := s.Plan(t.Context(), s.bytes(asConfigured(nil)), s.bytes(inState(nil)),
		s.bytes(inState(map[string]any{"size": nil})), nil)
	if !got {
		t.Error("a value that the hooks derive is a change")
	}
	with := defaulted(t, &hooks{})
	for protected, want := range map[any]bool{false: true, true: false} {
		state := with.bytes(inState(map[string]any{"deletion_protection": protected}))
		if _, got := with.Plan(t.Context(), with.bytes(asConfigured(nil)), state, state, nil); got != want {
			t.Errorf("protected %v in state: %t", protected, got)
		}
	}
}

func TestShortPathRequiresTheSchemaOfTheModel(t *testing.T) {
	t.Parallel()
	other := func() map[string]schema.Attribute {
		all := attributes()
		delete(all, "size")
		return all
	}
	with := &thingResource{Kind: lifecycle.Kind{Type: "kt_thing", Attributes: other}, Hooks: &hooks{}}
	if path, err := with.NewShortPath(t.Context(), nil); err == nil || path != nil {
		t.Errorf("another schema: %v", path)
	}
}

// An outage is explained once in a run, which must not be in a diagnostic that is discarded.
func TestOutageOnTheShortPathIsExplainedByTheReadThatFollows(t *testing.T) {
	t.Parallel()
	address := kubetest.UnusedAddress(t)
	refresh := func(r *reading) error {
		_, err := r.Data.Cluster.API.Get(t.Context(), kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"})
		return err
	}
	data, h := dataAt(t, "http://"+address), &hooks{refresh: refresh}
	one := &thingResource{Kind: lifecycle.Kind{Type: "kt_thing", Noun: "thing", Attributes: attributes}, Hooks: h}
	path, err := one.NewShortPath(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	s := configured(t, data, h)
	if _, unchanged := path.Read(t.Context(), s.value(inState(nil)).MsgPack, raw(remembered())); unchanged {
		t.Fatal("the short path did not read the object")
	}
	resp, err := s.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "kt_thing",
		CurrentState: s.value(inState(nil)), Private: private(t, remembered())})
	if err != nil || len(resp.Diagnostics) != 1 ||
		!strings.Contains(resp.Diagnostics[0].Detail, "kubectl cluster-info") {
		t.Errorf("%v, %v", err, resp.Diagnostics)
	}
}
