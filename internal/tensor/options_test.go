package tensor

import (
	"reflect"
	"testing"
)

func TestLimitsThatAreNotPositiveHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	zero := Options{}.withDefaults()
	negative := Options{ChunkSize: -1, MessageLimit: -1, TensorLimit: -1, StallTimeout: -1, Buffer: -1}.withDefaults()
	for field, value := range reflect.ValueOf(negative).Fields() {
		if !value.CanInt() || field.Name == "Numbering" {
			continue
		}
		want := reflect.ValueOf(zero).FieldByName(field.Name).Int()
		if value.Int() != want || want <= 0 {
			t.Errorf("%s is %d for a negative number, and %d for 0", field.Name, value.Int(), want)
		}
	}
}
