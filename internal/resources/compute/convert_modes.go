package compute

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func (c *converter) decodeAutoscale(object types.Object) *manifest.Autoscale {
	if object.IsNull() {
		return nil
	}
	m := decodeObject[autoscaleModel](c, object)
	return &manifest.Autoscale{
		MinScale: m.MinScale.ValueInt64Pointer(), MaxScale: m.MaxScale.ValueInt64Pointer(),
		InitialScale: m.InitialScale.ValueInt64Pointer(),
		Target:       m.Target.ValueInt64Pointer(), TargetUtilization: m.TargetUtilization.ValueInt64Pointer(),
		Metric: m.Metric.ValueString(), Window: m.Window.ValueString(), Concurrency: m.Concurrency.ValueInt64Pointer(),
		ScaleDownDelay:                m.ScaleDownDelay.ValueString(),
		ScaleToZeroPodRetentionPeriod: m.ScaleToZeroPodRetentionPeriod.ValueString(),
		AutoscalerClass:               m.AutoscalerClass.ValueString(),
		ProgressDeadline:              m.ProgressDeadline.ValueString(),
		ExtraAnnotations:              c.decodeMap(m.ExtraAnnotations),
	}
}

// followAutoscale updates only the settings that changed, so that settings with their defaults stay null.
func (c *converter) followAutoscale(attribute *types.Object, before, after *manifest.Autoscale) {
	before, changed := observedChange(before, after)
	if !changed {
		return // a workload that is not a Knative Service has another mode
	}
	m := decodeObject[autoscaleModel](c, *attribute)
	if attribute.IsNull() {
		m.ExtraAnnotations = types.MapNull(types.StringType)
	}
	tf.SetChanged(&m.MinScale, before.MinScale, after.MinScale, types.Int64PointerValue)
	tf.SetChanged(&m.MaxScale, before.MaxScale, after.MaxScale, types.Int64PointerValue)
	tf.SetChanged(&m.InitialScale, before.InitialScale, after.InitialScale, types.Int64PointerValue)
	tf.SetChanged(&m.Target, before.Target, after.Target, types.Int64PointerValue)
	tf.SetChanged(&m.TargetUtilization, before.TargetUtilization, after.TargetUtilization, types.Int64PointerValue)
	tf.SetChanged(&m.Concurrency, before.Concurrency, after.Concurrency, types.Int64PointerValue)
	tf.SetChanged(&m.Metric, before.Metric, after.Metric, textOrNull)
	tf.SetChanged(&m.AutoscalerClass, before.AutoscalerClass, after.AutoscalerClass, textOrNull)
	tf.SetChanged(&m.Window, before.Window, after.Window, tf.DurationOf)
	tf.SetChanged(&m.ScaleDownDelay, before.ScaleDownDelay, after.ScaleDownDelay, tf.DurationOf)
	tf.SetChanged(&m.ScaleToZeroPodRetentionPeriod, before.ScaleToZeroPodRetentionPeriod,
		after.ScaleToZeroPodRetentionPeriod, tf.DurationOf)
	tf.SetChanged(&m.ProgressDeadline, before.ProgressDeadline, after.ProgressDeadline, tf.DurationOf)
	tf.SetChangedEntries(&m.ExtraAnnotations, before.ExtraAnnotations, after.ExtraAnnotations)
	c.setObject(attribute, m)
}

// observedChange returns the earlier of two observations, empty instead of nil, and whether the later one exists and
// differs from it.
func observedChange[V any](before, after *V) (was *V, changed bool) {
	return cmp.Or(before, new(V)), after != nil && !reflect.DeepEqual(before, after)
}

func (c *converter) decodeDistribute(object types.Object) *manifest.Distribute {
	if object.IsNull() {
		return nil
	}
	m := decodeObject[distributeModel](c, object)
	out := &manifest.Distribute{
		Type: m.Type.ValueString(), Workers: m.Workers.ValueInt64(),
		QuorumWorkers: m.QuorumWorkers.ValueInt64Pointer(), QuorumTimeout: m.QuorumTimeout.ValueString(),
		MonitorMembers: m.MonitorMembers.ValueBoolPointer(),
	}
	if !m.Args.IsNull() {
		if err := json.Unmarshal([]byte(m.Args.ValueString()), &out.Args); err != nil {
			c.diags.AddAttributeError(path.Root("distribute").AtName("args"), "Invalid args",
				fmt.Sprintf("distribute.args must be a JSON object: %v", err))
		}
	}
	return out
}

// followDistribute updates the number of workers, and the settings of Ray.
func (c *converter) followDistribute(attribute *types.Object, before, after *manifest.Distribute) {
	before, changed := observedChange(before, after)
	if !changed {
		return
	}
	m := decodeObject[distributeModel](c, *attribute)
	if attribute.IsNull() {
		m.Type = types.StringValue(after.Type)
	}
	tf.SetChanged(&m.Workers, before.Workers, after.Workers, types.Int64Value)
	if !reflect.DeepEqual(before.Args, after.Args) {
		m.addArgs(after.Args)
	}
	c.setObject(attribute, m)
}

// adoptDistribute adds what only the registration of an imported compute contains.
func (c *converter) adoptDistribute(attribute *types.Object, found *manifest.Distribute) {
	m := decodeObject[distributeModel](c, *attribute)
	m.Type = types.StringValue(found.Type)
	if m.Workers.IsNull() {
		m.Workers = types.Int64Value(found.Workers)
	}
	m.QuorumWorkers = types.Int64PointerValue(found.QuorumWorkers)
	m.MonitorMembers = types.BoolPointerValue(found.MonitorMembers)
	if timeout, err := manifest.ParseDuration(found.QuorumTimeout); err == nil && found.QuorumTimeout != "" {
		m.QuorumTimeout = encodeDuration(timeout)
	}
	m.addArgs(found.Args)
	c.setObject(attribute, m)
}

func (m *distributeModel) addArgs(found map[string]any) {
	if len(found) == 0 {
		return
	}
	args := map[string]any{}
	_ = json.Unmarshal([]byte(m.Args.ValueString()), &args) // null, or validated by the schema
	maps.Copy(args, found)
	if text, err := json.Marshal(args); err == nil {
		m.Args = jsontypes.NewNormalizedValue(string(text))
	}
}

func (c *converter) decodeImageSetup(object types.Object) *manifest.ImageSetup {
	if object.IsNull() {
		return nil
	}
	m := decodeObject[imageSetupModel](c, object)
	return &manifest.ImageSetup{
		ConfigMap: m.ConfigMap.ValueString(), Digest: m.Digest.ValueString(),
		PythonPath: m.PythonPath.ValueString(), InstallCmd: m.InstallCmd.ValueString(),
	}
}

func (c *converter) followImageSetup(attribute *types.Object, before, after *manifest.ImageSetup) {
	if before != nil && after == nil {
		*attribute = types.ObjectNull(attribute.AttributeTypes(c.ctx))
	}
	before, changed := observedChange(before, after)
	if !changed {
		return
	}
	m := decodeObject[imageSetupModel](c, *attribute)
	tf.SetChanged(&m.ConfigMap, before.ConfigMap, after.ConfigMap, textOrNull)
	tf.SetChanged(&m.Digest, before.Digest, after.Digest, textOrNull)
	tf.SetChanged(&m.PythonPath, before.PythonPath, after.PythonPath, textOrNull)
	tf.SetChanged(&m.InstallCmd, before.InstallCmd, after.InstallCmd, textOrNull)
	c.setObject(attribute, m)
}

// decodeLogging returns the log level, and the other settings of the attribute logging_config.
func (c *converter) decodeLogging(object types.Object) (level string, rest manifest.Logging) {
	m := decodeObject[loggingModel](c, object)
	return m.Level.ValueString(), manifest.Logging{
		StreamLogs: m.StreamLogs.ValueBoolPointer(), IncludeSystemLogs: m.IncludeSystemLogs.ValueBoolPointer(),
		IncludeEvents: m.IncludeEvents.ValueBoolPointer(), IncludeName: m.IncludeName.ValueBoolPointer(),
		GracePeriod:         c.decodeDuration("logging_config", m.GracePeriod),
		PollTimeout:         c.decodeDuration("logging_config", m.PollTimeout),
		ShutdownGracePeriod: c.decodeDuration("logging_config", m.ShutdownGracePeriod),
	}
}

// adoptLogging adds what only the registration of an imported compute contains.
func (c *converter) adoptLogging(attribute *types.Object, found manifest.Logging) {
	if found == (manifest.Logging{}) {
		return
	}
	m := decodeObject[loggingModel](c, *attribute)
	m.StreamLogs = types.BoolPointerValue(found.StreamLogs)
	m.IncludeSystemLogs = types.BoolPointerValue(found.IncludeSystemLogs)
	m.IncludeEvents = types.BoolPointerValue(found.IncludeEvents)
	m.IncludeName = types.BoolPointerValue(found.IncludeName)
	for setting, d := range map[*tf.Duration]*time.Duration{
		&m.GracePeriod: found.GracePeriod, &m.PollTimeout: found.PollTimeout,
		&m.ShutdownGracePeriod: found.ShutdownGracePeriod,
	} {
		if d != nil {
			*setting = encodeDuration(*d)
		}
	}
	c.setObject(attribute, m)
}

// followLogLevel updates the log level in env_vars if it is set there, otherwise in logging_config.
func (m *model) followLogLevel(c *converter, before, after string) {
	if _, set := m.EnvVars.Elements()[manifest.LogLevelVariable]; set {
		tf.SetChangedEntries(&m.EnvVars, logLevelVariable(before), logLevelVariable(after))
		return
	}
	if before != after && after != "" && !(m.Logging.IsNull() && after == manifest.DefaultLogLevel) {
		logging := decodeObject[loggingModel](c, m.Logging)
		logging.Level = types.StringValue(after)
		c.setObject(&m.Logging, logging)
	}
}

func logLevelVariable(level string) map[string]string {
	if level == "" {
		return nil
	}
	return map[string]string{manifest.LogLevelVariable: strings.ToUpper(level)}
}
