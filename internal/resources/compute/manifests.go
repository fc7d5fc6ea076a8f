package compute

import (
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// objects decodes the attribute manifests, in which references stand for the values of env_vars.
func (m *model) objects() (owned.Objects, error) {
	objects, err := owned.ObjectsOf(m.Manifests)
	values := m.envValues()
	if err != nil || len(values) == 0 {
		return objects, err
	}
	for _, object := range objects {
		if isWorkload(object.Content) &&
			manifest.ShowEnvVars(object.Content, values, decodeFieldPath(m.PodTemplatePath)...) {
			if object.Text, err = manifest.JSON(object.Content); err != nil {
				return nil, err
			}
		}
	}
	return objects, nil
}

// envValues returns the values of env_vars of all containers. It omits containers without any.
func (m *model) envValues() manifest.EnvValues {
	all := manifest.EnvValues{}
	add := func(container string, variables types.Map) {
		if values := tf.Texts(variables); len(values) > 0 {
			all[container] = values
		}
	}
	add(manifest.MainContainer, m.EnvVars)
	for _, item := range slices.Concat(m.InitContainers.Elements(), m.Sidecars.Elements()) {
		if container, ok := item.(types.Object); ok {
			add(memberOf[types.String](container, "name").ValueString(), memberOf[types.Map](container, "env_vars"))
		}
	}
	return all
}

// manifestsOf returns the attribute manifests for objects. Those that before has in prior keep their text, if env_vars
// is the same.
func (m *model) manifestsOf(objects owned.Objects, before *model, prior owned.Objects) types.Map {
	values := m.envValues()
	if len(values) == 0 {
		return objects.Value()
	}
	texts, same := tf.Texts(before.Manifests), reflect.DeepEqual(values, before.envValues())
	elements := make(map[string]attr.Value, len(objects))
	for key, object := range objects {
		text := object.Text
		switch {
		case !isWorkload(object.Content):
		case same && object.Equal(prior[key]):
			text = texts[key]
		default:
			hidden := manifest.HideEnvVars(object.Content, values, decodeFieldPath(m.PodTemplatePath)...)
			text, _ = manifest.JSON(hidden) // the content was decoded from JSON
		}
		elements[key] = types.StringValue(text)
	}
	return types.MapValueMust(types.StringType, elements)
}

// sameObjects reports whether a plan changes no object.
func (p *planner) sameObjects() bool {
	if p.rendered == nil {
		return p.Plan.sameObjects(p.State)
	}
	changed, obsolete := p.rendered.ChangedFrom(p.prior)
	return len(changed)+len(obsolete) == 0
}

// sameObjects reports whether two models have the same objects, and refer to the same values.
func (m *model) sameObjects(o *model) bool {
	return m.Manifests.Equal(o.Manifests) && reflect.DeepEqual(m.envValues(), o.envValues())
}
