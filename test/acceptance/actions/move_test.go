package actions_test

import (
	"fmt"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// sources returns resources that can describe a workload, by type: a generic one, and that of its kind. Their states
// have these attributes; see test/acctest/testdata/moved.
func (m member) sources(ns, uid string) map[string]acctest.Source {
	metadata := fmt.Sprintf(`{"name": %q, "namespace": %q, "uid": %q}`, m.name(), ns, uid)
	all := map[string]acctest.Source{
		"kubectl_manifest": {Provider: "alekc/kubectl", State: fmt.Sprintf(
			`{"api_version": %q, "kind": %q, "name": %q, "namespace": %q, "uid": %q}`, m.kind.GroupVersion(),
			m.kind.Kind, m.name(), ns, uid)},
	}
	typed := map[string]string{"Deployment": "deployment", "StatefulSet": "stateful_set", "DaemonSet": "daemon_set",
		"Job": "job", "CronJob": "cron_job", "Pod": "pod"}[m.kind.Kind]
	if typed != "" {
		all["kubernetes_"+typed+"_v1"] = acctest.Source{Provider: "hashicorp/kubernetes",
			State: `{"metadata": [` + metadata + `]}`}
	}
	for name, source := range all {
		source.Provider, source.Type = "registry.terraform.io/"+source.Provider, name
		all[name] = source
	}
	return all
}

// TestAccEveryKindIsMoved moves workloads of each kind from resources of other providers. The plan after it changes no
// object, and the objects stay the same. A compute of a tensor server cannot be moved.
func TestAccEveryKindIsMoved(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t)
	s := newSuite(t)
	for _, k := range kind.Workloads() {
		if k.Server != nil {
			continue
		}
		for source := range (member{kind: k}).sources("", "") {
			s.members = append(s.members, member{kind: k, source: source})
		}
	}
	s.applyForeign(s.members)
	before, from := s.live(), map[string]acctest.Source{}
	for _, m := range s.members {
		from[m.name()] = m.sources(s.ns, string(before[m.name()].GetUID()))[m.source]
	}
	s.computes.Move(t, from)
	s.keepImported(s.members)
	for name, live := range s.live() {
		if live.GetUID() != before[name].GetUID() {
			t.Errorf("%s was replaced by the move", name)
		}
	}
	s.destroy()
}
