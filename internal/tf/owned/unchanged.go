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
		value, ok := reflect.TypeAssert[attr.Value](planned.Field(i))
		was, known := reflect.TypeAssert[attr.Value](before.Field(i))
		if !ok || !known || !value.Equal(was) {
			return false
		}
	}
	return true
}
