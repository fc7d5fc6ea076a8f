package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// spec turns a wholly known model into what the renderer takes.
func (m *model) spec(ctx context.Context, defaults tf.Defaults) (manifest.Compute, diag.Diagnostics) {
	d := decoder{ctx: ctx}
	c := manifest.Compute{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Runtime: m.Runtime.ValueString(),
		Username: defaults.Username, InstallNamespace: defaults.InstallNamespace,
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
		LaunchTimeout: defaults.LaunchTimeout, GPUAntiAffinity: defaults.GPUAntiAffinity,
	}
	for _, r := range rows {
		r.spec(&d, m, &c)
		if r.isSet(m) {
			c.Settings = append(c.Settings, manifest.Setting{Attribute: r.name, Runners: r.runners})
		}
	}
	return c, d.diags
}

// decoder gathers diagnostics, so that spec can be one literal.
type decoder struct {
	ctx   context.Context //nolint:containedctx // lives as long as one call of spec
	diags diag.Diagnostics
}

func (d *decoder) attribute(name string, err error) {
	if err != nil {
		d.diags.AddAttributeError(path.Root(name), "Invalid "+name, err.Error())
	}
}

func (d *decoder) quantity(name string, text tf.Quantity) *resource.Quantity {
	if text.IsNull() {
		return nil
	}
	q, err := manifest.ParseQuantity(text.ValueString())
	d.attribute(name, err)
	return &q
}

func decodeMap(d *decoder, m types.Map) map[string]string {
	if m.IsNull() {
		return nil
	}
	out := map[string]string{}
	d.diags.Append(m.ElementsAs(d.ctx, &out, false)...)
	return out
}

func decodeList[T any](d *decoder, list types.List) []T {
	if list.IsNull() {
		return nil
	}
	var out []T
	d.diags.Append(list.ElementsAs(d.ctx, &out, false)...)
	return out
}

func decodeItems[M, C any](d *decoder, list types.List, decode func(*decoder, M) C) []C {
	var out []C
	for _, item := range decodeList[M](d, list) {
		out = append(out, decode(d, item))
	}
	return out
}

func (d *decoder) toleration(t tolerationModel) manifest.Toleration {
	return manifest.Toleration{
		Key: t.Key.ValueString(), Operator: t.Operator.ValueString(), Value: t.Value.ValueString(),
		Effect: t.Effect.ValueString(), TolerationSeconds: t.TolerationSeconds.ValueInt64Pointer(),
	}
}

func (d *decoder) secret(s secretModel) manifest.SecretRef {
	return manifest.SecretRef{
		Name: s.Name.ValueString(), EnvVars: decodeList[string](d, s.EnvVars), MountPath: s.MountPath.ValueString(),
		DefaultMode: fileMode(s.DefaultMode),
	}
}

// fileMode are permission bits that the validator of the attribute took; nil where it is not set.
func fileMode(text types.String) *int32 {
	mode, err := manifest.ParseFileMode(text.ValueString())
	if err != nil {
		return nil
	}
	return &mode
}

func (d *decoder) volume(v volumeModel) manifest.VolumeRef {
	return manifest.VolumeRef{
		ClaimName: v.ClaimName.ValueString(), MountPath: v.MountPath.ValueString(), ReadOnly: v.ReadOnly.ValueBool(),
	}
}

func (d *decoder) template(text types.String) map[string]any {
	if text.IsNull() {
		return nil
	}
	var template map[string]any
	if err := json.Unmarshal([]byte(text.ValueString()), &template); err != nil {
		d.attribute("service_template", fmt.Errorf("it must be a JSON object: %w", err))
	}
	return template
}

func (d *decoder) endpoint(object types.Object) *manifest.Endpoint {
	if object.IsNull() {
		return nil
	}
	var e endpointModel
	d.diags.Append(tf.Object(d.ctx, object, &e)...)
	return &manifest.Endpoint{URL: e.URL.ValueString(), Selector: decodeMap(d, e.Selector)}
}

// renderErrors puts each error of the renderer at its attribute.
func renderErrors(err error) diag.Diagnostics {
	var diags diag.Diagnostics
	found, ok := errors.AsType[manifest.Errors](err)
	if !ok {
		diags.AddError("The objects of this compute cannot be rendered", err.Error())
	}
	for _, e := range found {
		diags.AddAttributeError(pathOf(e.Path), e.Summary, e.Detail)
	}
	return diags
}

func pathOf(place manifest.Path) path.Path {
	at := path.Empty()
	for _, step := range place {
		switch step := step.(type) {
		case manifest.Name:
			at = at.AtName(string(step))
		case manifest.Entry:
			at = at.AtMapKey(string(step))
		case manifest.Index:
			at = at.AtListIndex(int(step))
		}
	}
	return at
}
