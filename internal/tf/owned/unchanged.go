package owned

import (
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

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
