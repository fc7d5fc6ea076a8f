package core

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Text returns a value of a request, for comparisons.
func Text(schema *tfprotov6.Schema, v *tfprotov6.DynamicValue) (string, error) {
	typ, err := ctyType(schema.ValueType())
	if err != nil {
		return "", err
	}
	value, err := decode(v, typ)
	return fmt.Sprintf("%#v", value), err
}
