package compute

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// followPorts keeps app_protocol of the ports of a container that have changed: only the Service has it.
func followPorts(c *converter, m *model, before, after *manifest.Compute) {
	if reflect.DeepEqual(before.Ports, after.Ports) {
		return
	}
	var given []manifest.Port
	c.Decode(path.Root("ports"), m.Ports, &given)
	protocols := map[string]string{}
	for _, port := range given {
		protocols[port.Name] = port.AppProtocol
	}
	for _, port := range before.Ports {
		if port.AppProtocol != "" { // a Service has been observed
			delete(protocols, port.Name)
		}
	}
	seen := slices.Clone(after.Ports)
	for i, port := range seen {
		seen[i].AppProtocol = cmp.Or(port.AppProtocol, protocols[port.Name])
	}
	m.Ports = tf.Encode(&c.Converter, m.Ports, seen)
}

// followProbes does not set probes of a server that health_path or the default describe. An import sets them first; see
// [model.adopt].
func followProbes(c *converter, m *model, before, after *manifest.Compute) {
	if !m.Probes.IsNull() {
		m.Probes = tf.Follow(&c.Converter, m.Probes, before.Probes, after.Probes)
	}
}

// followHealthPath ignores the path of probes, which replace those of health_path.
func followHealthPath(c *converter, m *model, before, after *manifest.Compute) {
	if m.Probes.IsNull() {
		m.HealthPath = tf.Follow(&c.Converter, m.HealthPath, before.HealthPath, after.HealthPath)
	}
}
