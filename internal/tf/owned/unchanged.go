package owned

import (
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
)

// Unchanged says whether all attributes of a planned model are those of the
// state, so that Terraform has nothing to update.
func Unchanged[M any](plan, state *M) bool {
	planned, before := reflect.ValueOf(plan).Elem(), reflect.ValueOf(state).Elem()
	for i := range planned.NumField() {
		value, ok := planned.Field(i).Interface().(attr.Value)
		was, known := before.Field(i).Interface().(attr.Value)
		if !ok || !known || !value.Equal(was) {
			return false
		}
	}
	return true
}
