package compute

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// adoptRegistration fills in the attributes that only the KubetorchWorkload of a
// compute shows. workload is the workload as it was imported, nil for none.
func (m *model) adoptRegistration(f *follower, workload, registration *unstructured.Unstructured) {
	var seen manifest.Compute
	if workload != nil {
		seen = m.observe(workload)
	}
	found := manifest.ObserveRegistration(registration, seen)
	m.adoptLogging(f, found.Logging)
	podless := m.Mode.ValueString() == kind.ModeSelector
	if podless {
		m.Selector = types.MapNull(types.StringType) // a Service may select others
		f.maps(&m.Selector, nil, found.Selector)
	}
	// The Service of a workload shows itself which pods it selects.
	if found.Endpoint != nil && m.Endpoint.IsNull() && (podless || found.Endpoint.URL != "") {
		selector := types.MapNull(types.StringType)
		f.maps(&selector, nil, found.Endpoint.Selector)
		m.Endpoint = f.object(m.Endpoint, endpointModel{URL: textOrNull(found.Endpoint.URL), Selector: selector})
	}
	if found.Distribute != nil && m.Manifest.IsNull() {
		m.adoptDistribute(f, found.Distribute)
	}
}

func (m *model) adoptLogging(f *follower, found manifest.Logging) {
	if found == (manifest.Logging{}) {
		return
	}
	var logging loggingModel
	if !m.Logging.IsNull() {
		f.diags.Append(tf.Object(f.ctx, m.Logging, &logging)...)
	}
	logging.StreamLogs = types.BoolPointerValue(found.StreamLogs)
	logging.IncludeSystemLogs = types.BoolPointerValue(found.IncludeSystemLogs)
	logging.IncludeEvents = types.BoolPointerValue(found.IncludeEvents)
	logging.IncludeName = types.BoolPointerValue(found.IncludeName)
	for attribute, d := range map[*tf.Duration]*time.Duration{
		&logging.GracePeriod: found.GracePeriod, &logging.PollTimeout: found.PollTimeout,
		&logging.ShutdownGracePeriod: found.ShutdownGracePeriod,
	} {
		if d != nil {
			*attribute = tf.DurationOf(durationText(*d))
		}
	}
	m.Logging = f.object(m.Logging, logging)
}

// adoptDistribute adds to what the workload shows, such as the version of Ray.
func (m *model) adoptDistribute(f *follower, found *manifest.Distribute) {
	var d distributeModel
	if !m.Distribute.IsNull() {
		f.diags.Append(tf.Object(f.ctx, m.Distribute, &d)...)
	}
	d.Type = types.StringValue(found.Type)
	if d.Workers.IsNull() {
		d.Workers = types.Int64Value(found.Workers)
	}
	d.QuorumWorkers, d.MonitorMembers = types.Int64PointerValue(found.QuorumWorkers),
		types.BoolPointerValue(found.MonitorMembers)
	if timeout, err := manifest.ParseDuration(found.QuorumTimeout); err == nil && found.QuorumTimeout != "" {
		d.QuorumTimeout = tf.DurationOf(durationText(timeout))
	}
	if len(found.Args) > 0 {
		args := map[string]any{}
		_ = json.Unmarshal([]byte(d.Args.ValueString()), &args) // null, or written by this provider
		maps.Copy(args, found.Args)
		if text, err := json.Marshal(args); err == nil {
			d.Args = jsontypes.NewNormalizedValue(string(text))
		}
	}
	m.Distribute = f.object(m.Distribute, d)
}
