package owned

import (
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// Unchanged reports whether all attributes of a planned model, embedded ones
// included, are those of the state, so that Terraform has nothing to update.
func Unchanged[M any](plan, state *M) bool {
	planned, before := reflect.ValueOf(plan).Elem(), reflect.ValueOf(state).Elem()
	for _, field := range reflect.VisibleFields(planned.Type()) {
		if field.Anonymous {
			continue
		}
		value, ok := reflect.TypeAssert[attr.Value](planned.FieldByIndex(field.Index))
		was, _ := reflect.TypeAssert[attr.Value](before.FieldByIndex(field.Index))
		if !ok || !value.Equal(was) {
			return false
		}
	}
	return true
}
