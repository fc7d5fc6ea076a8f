package compute

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func servesOnGPUs(t *testing.T, m *model) {
	t.Helper()
	c := newConverter(t.Context())
	m.Command, m.Port = tf.Encode(&c.Converter, m.Command, []string{"serve"}), types.Int64Value(8000)
	m.GPUs, m.Replicas = types.Int64Value(1), types.Int64Value(3)
}

func TestAdoptSetsProbesAndLimitsOnlyIfTheyAreNotTheDefaults(t *testing.T) {
	t.Parallel()
	c := newConverter(t.Context())
	for name, test := range map[string]struct {
		set                   func(*model)
		probes, hasHealthPath bool
		surge, unavailable    types.String
	}{
		"defaults": {set: func(m *model) { m.HealthPath = types.StringValue("/health") }, hasHealthPath: true},
		"probes": {probes: true, set: func(m *model) {
			m.Probes = tf.Encode(&c.Converter, m.Probes, manifest.ProbeSettings{Readiness: &manifest.Probe{
				HTTPGet: &manifest.HTTPGet{Path: "/ready"}, Period: 5 * time.Second}})
		}},
		"no probes": {probes: true, set: func(m *model) {
			m.Probes = tf.Encode(&c.Converter, m.Probes, manifest.ProbeSettings{})
		}},
		"limits": {surge: types.StringValue("1"), set: func(m *model) { m.MaxSurge = types.StringValue("1") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := planned(t, func(m *model) { servesOnGPUs(t, m) }, test.set)
			objects := rendered(t, want, defaults)
			m := planned(t)
			m.Mode = types.StringValue("deployment")
			if diags := m.adopt(t.Context(), observed(t, objects), defaults); diags.HasError() {
				t.Fatal(diags)
			}
			if got := rendered(t, m, defaults); !equalObjects(got, objects) {
				t.Errorf("the imported attributes render\n%v\nwant\n%v", got.Value(), objects.Value())
			}
			if m.Probes.IsNull() == test.probes || m.HealthPath.IsNull() == test.hasHealthPath ||
				!m.LaunchTimeout.IsNull() || !m.Strategy.IsNull() ||
				!m.MaxSurge.Equal(test.surge) || !m.MaxUnavailable.Equal(test.unavailable) {
				t.Errorf("imported probes %s, health_path %s, launch_timeout %s, strategy %s, max_surge %s and "+
					"max_unavailable %s", m.Probes, m.HealthPath, m.LaunchTimeout, m.Strategy, m.MaxSurge,
					m.MaxUnavailable)
			}
		})
	}
}

func TestFollowedProbesReplaceNeitherHealthPathNorLaunchTimeout(t *testing.T) {
	t.Parallel()
	c := newConverter(t.Context())
	seen := manifest.ProbeSettings{Readiness: &manifest.Probe{HTTPGet: &manifest.HTTPGet{Path: "/ready"}}}
	m := planned(t, func(m *model) {
		servesOnGPUs(t, m)
		m.Probes = tf.Encode(&c.Converter, m.Probes, seen)
	})
	before := observed(t, rendered(t, m, defaults))
	seen.Readiness = &manifest.Probe{HTTPGet: &manifest.HTTPGet{Path: "/other"}}
	seen.Startup = &manifest.Probe{TCPSocket: &manifest.TCPSocket{}, FailureThreshold: 7}
	other := planned(t, func(m *model) {
		servesOnGPUs(t, m)
		m.Probes = tf.Encode(&c.Converter, m.Probes, seen)
	})
	if diags := m.follow(t.Context(), before, observed(t, rendered(t, other, defaults))); diags.HasError() {
		t.Fatal(diags)
	}
	if !m.Probes.Equal(other.Probes) || !m.HealthPath.IsNull() || !m.LaunchTimeout.IsNull() {
		t.Errorf("probes %s, health_path %s, launch_timeout %s", m.Probes, m.HealthPath, m.LaunchTimeout)
	}
}

func TestPortsFollowTheContainerAndTheService(t *testing.T) {
	t.Parallel()
	c := newConverter(t.Context())
	grpc := manifest.Port{Name: "grpc", Port: 9000, AppProtocol: "grpc"}
	container, moved := manifest.Port{Name: "grpc", Port: 9000}, manifest.Port{Name: "grpc", Port: 9001}
	movedGRPC := manifest.Port{Name: "grpc", Port: 9001, AppProtocol: "grpc"}
	other := manifest.Port{Name: "x", Port: 9000}
	list := func(ports ...manifest.Port) []manifest.Port { return ports }
	for name, test := range map[string]struct{ before, after, want []manifest.Port }{
		"the same container":         {list(container), list(container), list(grpc)},
		"another port of it":         {list(container), list(moved), list(movedGRPC)},
		"no port of it":              {list(container), nil, nil},
		"another port":               {list(container), list(other), list(other)},
		"the same Service":           {list(grpc), list(grpc), list(grpc)},
		"no protocol of the Service": {list(grpc), list(container), list(container)},
		"an imported Service":        {nil, list(grpc), list(grpc)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := planned(t, func(m *model) { m.Ports = tf.Encode(&c.Converter, m.Ports, list(grpc)) })
			before, after := manifest.Compute{Ports: test.before}, manifest.Compute{Ports: test.after}
			if diags := m.follow(t.Context(), before, after); diags.HasError() {
				t.Fatal(diags)
			}
			if want := tf.Encode(&c.Converter, m.Ports, test.want); !m.Ports.Equal(want) {
				t.Errorf("ports are %s, want %s", m.Ports, want)
			}
		})
	}
}
