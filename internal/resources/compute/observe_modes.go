package compute

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// followAutoscale follows each setting that changed by itself, so that those
// which the configuration leaves to their defaults stay out of it.
func (m *model) followAutoscale(f *follower, before, after *manifest.Autoscale) {
	if after == nil || reflect.DeepEqual(before, after) {
		return // a workload that is no Knative Service is another mode, not a change of this one
	}
	if before == nil {
		before = &manifest.Autoscale{}
	}
	a := autoscaleModel{ExtraAnnotations: types.MapNull(types.StringType)}
	if !m.Autoscale.IsNull() {
		f.diags.Append(tf.Object(f.ctx, m.Autoscale, &a)...)
	}
	followNumbers(map[*types.Int64][2]*int64{
		&a.MinScale:          {before.MinScale, after.MinScale},
		&a.MaxScale:          {before.MaxScale, after.MaxScale},
		&a.InitialScale:      {before.InitialScale, after.InitialScale},
		&a.Target:            {before.Target, after.Target},
		&a.TargetUtilization: {before.TargetUtilization, after.TargetUtilization},
		&a.Concurrency:       {before.Concurrency, after.Concurrency},
	})
	f.texts(map[*types.String][2]string{
		&a.Metric:          {before.Metric, after.Metric},
		&a.AutoscalerClass: {before.AutoscalerClass, after.AutoscalerClass},
	})
	followDurations(map[*tf.Duration][2]string{
		&a.Window:                        {before.Window, after.Window},
		&a.ScaleDownDelay:                {before.ScaleDownDelay, after.ScaleDownDelay},
		&a.ScaleToZeroPodRetentionPeriod: {before.ScaleToZeroPodRetentionPeriod, after.ScaleToZeroPodRetentionPeriod},
		&a.ProgressDeadline:              {before.ProgressDeadline, after.ProgressDeadline},
	})
	f.maps(&a.ExtraAnnotations, before.ExtraAnnotations, after.ExtraAnnotations)
	m.Autoscale = f.object(m.Autoscale, a)
}

// followDistribute follows the number of workers, and Ray's settings.
func (m *model) followDistribute(f *follower, before, after *manifest.Distribute) {
	if after == nil || reflect.DeepEqual(before, after) {
		return
	}
	if before == nil {
		before = &manifest.Distribute{}
	}
	var d distributeModel
	if m.Distribute.IsNull() {
		d.Type = types.StringValue(after.Type)
	} else {
		f.diags.Append(tf.Object(f.ctx, m.Distribute, &d)...)
	}
	if before.Workers != after.Workers {
		d.Workers = types.Int64Value(after.Workers)
	}
	if !reflect.DeepEqual(before.Args, after.Args) && len(after.Args) > 0 {
		args := map[string]any{}
		_ = json.Unmarshal([]byte(d.Args.ValueString()), &args) // validated when it was configured
		maps.Copy(args, after.Args)
		if text, err := json.Marshal(args); err == nil {
			d.Args = jsontypes.NewNormalizedValue(string(text))
		}
	}
	m.Distribute = f.object(m.Distribute, d)
}

func (m *model) followImageSetup(f *follower, before, after *manifest.ImageSetup) {
	if reflect.DeepEqual(before, after) {
		return
	}
	if after == nil {
		m.ImageSetup = types.ObjectNull(m.ImageSetup.AttributeTypes(f.ctx))
		return
	}
	var s imageSetupModel
	if !m.ImageSetup.IsNull() {
		f.diags.Append(tf.Object(f.ctx, m.ImageSetup, &s)...)
	}
	if before == nil {
		before = &manifest.ImageSetup{}
	}
	f.texts(map[*types.String][2]string{
		&s.ConfigMap:  {before.ConfigMap, after.ConfigMap},
		&s.Digest:     {before.Digest, after.Digest},
		&s.PythonPath: {before.PythonPath, after.PythonPath},
		&s.InstallCmd: {before.InstallCmd, after.InstallCmd},
	})
	m.ImageSetup = f.object(m.ImageSetup, s)
}

// followNumbers sets each attribute whose number changed.
func followNumbers(attributes map[*types.Int64][2]*int64) {
	for attribute, number := range attributes {
		if !reflect.DeepEqual(number[0], number[1]) {
			*attribute = types.Int64PointerValue(number[1])
		}
	}
}

// followDurations sets each attribute whose text changed; an empty one is null.
func followDurations(attributes map[*tf.Duration][2]string) {
	for attribute, text := range attributes {
		if text[0] != text[1] {
			*attribute = tf.DurationOf(text[1])
		}
	}
}
