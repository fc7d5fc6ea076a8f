package protocol_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

func TestActionsAcceptUnknownValues(t *testing.T) {
	t.Parallel()
	o := serveOffline(t)
	schemas, err := o.server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	server, ok := o.server.(tfprotov6.ActionServer)
	if !ok {
		t.Fatal("the provider has no actions")
	}
	const command = `"command": ["a"], `
	for name, test := range map[string]struct {
		action, config string
		valid          bool
	}{
		"pods of a job":            {"kt_run", command + `"job": {}, "pods": "all"`, false},
		"parallelism of a job":     {"kt_run", command + `"job": {}, "parallelism": 2`, false},
		"unknown pods of a job":    {"kt_run", command + `"job": {}, "pods": "` + unknown + `"`, true},
		"unknown number for a job": {"kt_run", command + `"job": {}, "parallelism": "` + unknown + `"`, true},
		"parallelism of one pod":   {"kt_checkpoint", command + `"pods": "any", "parallelism": 2`, false},
		"unknown number for one pod": {"kt_checkpoint", command + `"pods": "any", "parallelism": "` + unknown + `"`,
			true},
		"one of all containers":      {"kt_logs", `"container": "a", "all_containers": true`, false},
		"unknown of all containers":  {"kt_logs", `"container": "` + unknown + `", "all_containers": true`, true},
		"short timeout":              {"kt_logs", `"timeout": "20s"`, false},
		"short timeout and duration": {"kt_logs", `"timeout": "20s", "duration": "10s"`, true},
		"unknown duration":           {"kt_logs", `"timeout": "20s", "duration": "` + unknown + `"`, true},
		"unknown timeout":            {"kt_logs", `"timeout": "` + unknown + `", "duration": "2h"`, true},
		"previous runs":              {"kt_logs", `"timeout": "20s", "previous": true`, true},
		"perhaps previous runs":      {"kt_logs", `"timeout": "20s", "previous": "` + unknown + `"`, true},
	} {
		typ := schemas.ActionSchemas[test.action].Schema.ValueType()
		encoded, err := tfprotov6.NewDynamicValue(typ, jsonConfig(t, typ, `{"name": "trainer", `+test.config+`}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.ValidateActionConfig(t.Context(),
			&tfprotov6.ValidateActionConfigRequest{ActionType: test.action, Config: &encoded})
		if err != nil || (len(resp.Diagnostics) == 0) != test.valid {
			t.Errorf("%s: valid is %t (%v): %v", name, !test.valid, err, resp.Diagnostics)
		}
	}
}
