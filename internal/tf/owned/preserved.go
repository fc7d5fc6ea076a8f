package owned

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// PreserveCreator returns the defaults with the username in the label of the applied objects, or without a username if
// they have no such label. It changes nothing if the provider block sets a username, or if nothing was applied yet.
func PreserveCreator(defaults tf.Defaults, applied []*unstructured.Unstructured) tf.Defaults {
	if len(applied) == 0 || defaults.UsernameChosen {
		return defaults
	}
	defaults.Username = Label(applied, kind.UsernameLabel)
	return defaults
}

// Label returns the value of a label from the first object that has one, or "".
func Label(objects []*unstructured.Unstructured, name string) string {
	for _, obj := range objects {
		if value := obj.GetLabels()[name]; value != "" {
			return value
		}
	}
	return ""
}

// Manifests returns the objects in the attribute manifests, sorted by key, without those that cannot be read.
func Manifests(attribute types.Map) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	texts := tf.Texts(attribute)
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if object, err := ParseObject(key, texts[key]); err == nil {
			objects = append(objects, object.Content)
		}
	}
	return objects
}

// PreserveImported calls preserve, which changes the plan, and keeps the result if the plan then has no changes. It is
// for settings that are not stored in the cluster, so that an import has to assume them. Any other change also applies
// the configured settings.
func PreserveImported[M any](plan, state *M, preserve func()) {
	planned := *plan
	preserve()
	if !Unchanged(plan, state) {
		*plan = planned
	}
}

// PreserveSetting sets a planned attribute to its value in the state if that and the configured value are both set.
func PreserveSetting[T attr.Value](planned *T, state, config T) {
	if !state.IsNull() && !config.IsNull() {
		*planned = state
	}
}

// AdmissionWarnings warns of fields that admission has set to another value than the one that was applied.
func AdmissionWarnings(object string, fields []string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, field := range fields {
		diags.AddWarning("The cluster changed a field on admission",
			fmt.Sprintf("%s: %s has another value than the one applied. A mutating webhook or policy of the cluster "+
				"has set it.\n\n"+
				"Investigate with:\n  kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations", object,
				field))
	}
	return diags
}

// Unchanged reports whether all attributes of a planned model, embedded ones
// included, are those of the state, so that Terraform has nothing to update.
func Unchanged[M any](plan, state *M) bool {
	return unchanged(reflect.ValueOf(plan).Elem(), reflect.ValueOf(state).Elem())
}

func unchanged(planned, before reflect.Value) bool {
	for i := range planned.NumField() {
		if planned.Type().Field(i).Anonymous {
			if !unchanged(planned.Field(i), before.Field(i)) {
				return false
			}
			continue
		}
		value, ok := reflect.TypeAssert[attr.Value](planned.Field(i))
		was, _ := reflect.TypeAssert[attr.Value](before.Field(i))
		if !ok || !value.Equal(was) {
			return false
		}
	}
	return true
}
