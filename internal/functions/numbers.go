package functions

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
)

func newQuantity() function.Function {
	return number("quantity", `"500m", "2" or "4Gi"`, quantity, "Converts a Kubernetes quantity to a number",
		"Returns the number in the base unit: bytes of a size, and cores of a number of CPUs. The result is exact.",
		"Kubernetes quantity, such as `500m`, `2` or `4Gi`. Units are case-sensitive. It must be less than 2^63-1, "+
			"and must not be negative.")
}

func newDuration() function.Function {
	return number("duration", `"90s", "15m" or "1d12h"`, duration, "Converts a duration to seconds",
		"Returns the number of seconds of a duration, as the attributes of this provider accept it.",
		"Duration, such as `90s`, `1m30s`, `2d` or `1d12h`. A number without a unit is in seconds. It must not be "+
			"negative.")
}

// number returns a function from a text to a number. The parameter, whose format is described, has the same name. parse
// returns the number in decimal notation.
func number(
	name, examples string, parse func(string) (string, error), summary, description, format string,
) function.Function {
	definition := function.Definition{
		Summary: summary, MarkdownDescription: description,
		Parameters: []function.Parameter{function.StringParameter{Name: name, MarkdownDescription: format}},
		Return:     function.NumberReturn{},
	}
	run := func(_ context.Context, arguments []tftypes.Value) (any, *function.FuncError) {
		var text string
		if err := arguments[0].As(&text); err != nil {
			return nil, invalid(0, err)
		}
		// The attributes accept the empty text as an omitted value, which a function does not have.
		if text == "" {
			return nil, invalid(0, fmt.Errorf("the %[1]s is empty: set a %[1]s such as %[2]s", name, examples))
		}
		decimal, err := parse(text)
		if err != nil {
			return nil, invalid(0, fmt.Errorf("the %s %w", name, err))
		}
		value, err := decode.Number(decimal)
		if err != nil {
			return nil, invalid(0, err)
		}
		return value, nil
	}
	return pure{name: name, definition: definition, run: run}
}

// quantity returns the value of a Kubernetes quantity in its base unit.
func quantity(text string) (string, error) {
	parsed, err := manifest.ParseQuantity(text)
	return parsed.AsDec().String(), err
}

// duration returns the seconds of a duration.
func duration(text string) (string, error) {
	parsed, err := manifest.ParseDuration(text)
	return big.NewRat(int64(parsed), int64(time.Second)).FloatString(9), err // nanoseconds
}
