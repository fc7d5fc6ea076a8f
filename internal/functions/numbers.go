package functions

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
)

// number is a function from a text to a number.
type number struct {
	name, summary, description string
	parameter, format          string
	parse                      func(string) (*big.Float, error)
}

func newQuantity() function.Function {
	return number{
		name: "quantity", parse: quantity, summary: "Converts a Kubernetes quantity to a number",
		description: "Returns the number in the base unit: bytes of a size, and cores of a number of CPUs. The " +
			"result is exact.",
		parameter: "quantity",
		format: "Kubernetes quantity, such as `500m`, `2` or `4Gi`. Units are case-sensitive. It must be less than " +
			"2^63-1, and must not be negative.",
	}
}

func newDuration() function.Function {
	return number{
		name: "duration", parse: duration, summary: "Converts a duration to seconds",
		description: "Returns the number of seconds of a duration, as the attributes of this provider accept it.",
		parameter:   "duration",
		format: "Duration, such as `90s`, `1m30s`, `2d` or `1d12h`. A number without a unit is in seconds. It must " +
			"not be negative.",
	}
}

// Metadata names the function.
func (n number) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = n.name
}

// Definition describes the function.
func (n number) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: n.summary, MarkdownDescription: n.description,
		Parameters: []function.Parameter{function.StringParameter{
			Name: n.parameter, MarkdownDescription: n.format,
		}},
		Return: function.NumberReturn{},
	}
}

// Run converts the argument.
func (n number) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	value, err := n.parse(text)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, sentence(fmt.Errorf("the %s %w", n.parameter, err)))
		return
	}
	resp.Error = resp.Result.Set(ctx, value)
}

// quantity returns the value of a Kubernetes quantity in its base unit.
func quantity(text string) (*big.Float, error) {
	// The attributes accept the empty text as an omitted value, which a function does not have.
	if text == "" {
		return nil, fmt.Errorf("is empty: set a quantity such as %q, %q or %q", "500m", "2", "4Gi")
	}
	parsed, err := manifest.ParseQuantity(text)
	if err != nil {
		return nil, err
	}
	return decode.Number(parsed.AsDec().String())
}

// duration returns the seconds of a duration.
func duration(text string) (*big.Float, error) {
	if text == "" {
		return nil, fmt.Errorf("is empty: set a duration such as %q, %q or %q", "90s", "15m", "1d12h")
	}
	parsed, err := manifest.ParseDuration(text)
	if err != nil {
		return nil, err
	}
	return decode.Number(big.NewRat(int64(parsed), int64(time.Second)).FloatString(9)) // nanoseconds
}
