package compute

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func (d *decoder) autoscale(object types.Object) *manifest.Autoscale {
	if object.IsNull() {
		return nil
	}
	var m autoscaleModel
	d.diags.Append(tf.Object(d.ctx, object, &m)...)
	return &manifest.Autoscale{
		MinScale: m.MinScale.ValueInt64Pointer(), MaxScale: m.MaxScale.ValueInt64Pointer(),
		InitialScale: m.InitialScale.ValueInt64Pointer(),
		Target:       m.Target.ValueInt64Pointer(), TargetUtilization: m.TargetUtilization.ValueInt64Pointer(),
		Metric: m.Metric.ValueString(), Window: m.Window.ValueString(), Concurrency: m.Concurrency.ValueInt64Pointer(),
		ScaleDownDelay:                m.ScaleDownDelay.ValueString(),
		ScaleToZeroPodRetentionPeriod: m.ScaleToZeroPodRetentionPeriod.ValueString(),
		AutoscalerClass:               m.AutoscalerClass.ValueString(),
		ProgressDeadline:              m.ProgressDeadline.ValueString(),
		ExtraAnnotations:              decodeMap(d, m.ExtraAnnotations),
	}
}

func (d *decoder) distribute(object types.Object) *manifest.Distribute {
	if object.IsNull() {
		return nil
	}
	var m distributeModel
	d.diags.Append(tf.Object(d.ctx, object, &m)...)
	out := &manifest.Distribute{
		Type: m.Type.ValueString(), Workers: m.Workers.ValueInt64(),
		QuorumWorkers: m.QuorumWorkers.ValueInt64Pointer(), QuorumTimeout: m.QuorumTimeout.ValueString(),
		MonitorMembers: m.MonitorMembers.ValueBoolPointer(),
	}
	if !m.Args.IsNull() {
		if err := json.Unmarshal([]byte(m.Args.ValueString()), &out.Args); err != nil {
			d.diags.AddAttributeError(path.Root("distribute").AtName("args"), "Invalid args",
				fmt.Sprintf("distribute.args must be a JSON object: %v", err))
		}
	}
	return out
}

func (d *decoder) manifest(text tf.Document) map[string]any {
	if text.IsNull() {
		return nil
	}
	object, err := manifest.ParseDocument(text.ValueString())
	if err != nil {
		d.attribute("manifest", fmt.Errorf("manifest %w", err))
	}
	return object
}

func fieldPath(text types.String) []string {
	if text.IsNull() {
		return nil
	}
	return strings.Split(text.ValueString(), ".")
}

func (d *decoder) imageSetup(object types.Object) *manifest.ImageSetup {
	if object.IsNull() {
		return nil
	}
	var m imageSetupModel
	d.diags.Append(tf.Object(d.ctx, object, &m)...)
	return &manifest.ImageSetup{
		ConfigMap: m.ConfigMap.ValueString(), Digest: m.Digest.ValueString(),
		PythonPath: m.PythonPath.ValueString(), InstallCmd: m.InstallCmd.ValueString(),
	}
}

// logging returns the log level, and what else is set of the attribute logging.
func (d *decoder) logging(object types.Object) (level string, rest manifest.Logging) {
	if object.IsNull() {
		return "", rest
	}
	var m loggingModel
	d.diags.Append(tf.Object(d.ctx, object, &m)...)
	return m.Level.ValueString(), manifest.Logging{
		StreamLogs: m.StreamLogs.ValueBoolPointer(), IncludeSystemLogs: m.IncludeSystemLogs.ValueBoolPointer(),
		IncludeEvents: m.IncludeEvents.ValueBoolPointer(), IncludeName: m.IncludeName.ValueBoolPointer(),
		GracePeriod:         d.duration("logging", m.GracePeriod),
		PollTimeout:         d.duration("logging", m.PollTimeout),
		ShutdownGracePeriod: d.duration("logging", m.ShutdownGracePeriod),
	}
}

func (d *decoder) duration(attribute string, text tf.Duration) *time.Duration {
	if text.IsNull() {
		return nil
	}
	parsed, err := manifest.ParseDuration(text.ValueString())
	d.attribute(attribute, err)
	return &parsed
}
