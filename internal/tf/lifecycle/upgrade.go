package lifecycle

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Upgrader returns a state upgrader that changes the attributes of a state in its JSON form, which needs no previous
// schema. The result must match the current schema. Attributes that it does not contain become null.
func Upgrader(change func(attributes map[string]json.RawMessage)) resource.StateUpgrader {
	return resource.StateUpgrader{StateUpgrader: func(
		_ context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse,
	) {
		var attributes map[string]json.RawMessage
		err := json.Unmarshal(req.RawState.JSON, &attributes)
		if err == nil {
			change(attributes)
			resp.DynamicValue = &tfprotov6.DynamicValue{}
			resp.DynamicValue.JSON, err = json.Marshal(attributes)
		}
		if err != nil {
			resp.Diagnostics.AddError("Invalid state", "The state is not a JSON object: "+err.Error()+".")
		}
	}}
}
