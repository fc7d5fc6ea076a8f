package actions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// adopt imports workloads that a client without Kubetorch created. The plan after it changes no object.
func (s *suite) adopt() {
	s.t.Helper()
	adopted := s.only(func(m member) bool { return m.adopted })
	s.applyForeign(adopted)
	s.computes.Import(s.t, s.ns, names(adopted))
	s.keepImported(adopted)
}

// applyForeign creates workloads by kubectl, without the labels of Kubetorch.
func (s *suite) applyForeign(members []member) {
	s.t.Helper()
	var texts []string
	for _, m := range members {
		texts = append(texts, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, labels: {team: red}}\n"+
			"spec: %s\n", m.kind.GroupVersion(), m.kind.Kind, m.name(),
			strings.ReplaceAll(m.spec(), kind.ServiceLabel, "app")))
	}
	withCRDs.Apply(s.t, strings.Join(texts, "---\n"), "-n", s.ns)
}

// keepImported applies what an import or a move has read. That changes no object.
func (s *suite) keepImported(members []member) {
	s.t.Helper()
	for _, m := range members {
		s.bodies[m.name()] = s.imported(m)
	}
	s.expectNoObjectChanges(s.computes.Plan(s.t, s.bodiesOf(members)))
	s.computes.Change(s.t, s.bodiesOf(members))
}

// imported returns a configuration with the values that an import has read.
func (s *suite) imported(m member) string {
	body, attributes := m.common(), []string{"manifest", "manifest_only"}
	if m.kind.Server != nil {
		attributes = []string{"runtime", "image", "replicas", "labels"}
	}
	for _, name := range attributes {
		switch value := s.computes.Attribute(m.name(), name).(type) {
		case nil:
		case string:
			body += fmt.Sprintf("%s = %q\n", name, strings.ReplaceAll(value, "${", "$${"))
		default:
			text, _ := json.Marshal(value) // read from JSON
			body += fmt.Sprintf("%s = %s\n", name, text)
		}
	}
	return body
}

func (s *suite) expectNoObjectChanges(plans map[string]*core.Plan) {
	s.t.Helper()
	for name, p := range plans {
		if slices.Contains(p.Attributes(), "manifests") || p.Action == core.Replace || p.Action == core.Create {
			s.t.Fatalf("%s: the plan after the import is %s of %q and %q", name, p.Action, p.Attributes(),
				acctest.AsPlan(s.t, p).Fields())
		}
	}
}
