package actions_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// result is what an action without Terraform reports.
type result struct {
	messages []string
	errors   []*tfprotov6.Diagnostic
}

func (r result) String() string {
	var out strings.Builder
	for _, message := range r.messages {
		out.WriteString(message + "\n")
	}
	for _, diagnostic := range r.errors {
		out.WriteString("Error at " + diagnostic.Attribute.String() + ": " + diagnostic.Summary + "\n" +
			diagnostic.Detail + "\n")
	}
	return out.String()
}

// invoke runs an action in this process. The values are strings, integers and booleans, or functions that return a
// value of the type of the attribute.
func invoke(t *testing.T, on *acctest.Cluster, action string, attributes map[string]any) result {
	t.Helper()
	server := acctest.ConfiguredProvider(t, map[string]string{"config_path": on.Started(t).Kubeconfig()})
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	object, _ := schemas.ActionSchemas[action].Schema.ValueType().(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, of := range object.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
		switch value := attributes[name].(type) {
		case nil:
		case func(tftypes.Type) tftypes.Value:
			values[name] = value(of)
		case int:
			values[name] = tftypes.NewValue(of, big.NewFloat(float64(value)))
		default:
			values[name] = tftypes.NewValue(of, value)
		}
	}
	actions, _ := server.(tfprotov6.ActionServer)
	stream, err := actions.InvokeAction(t.Context(), &tfprotov6.InvokeActionRequest{
		ActionType: action, Config: acctest.DynamicValue(t, object, values),
	})
	if err != nil {
		t.Fatal(err)
	}
	var r result
	for event := range stream.Events {
		switch event := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			r.messages = append(r.messages, event.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			r.errors = event.Diagnostics
		}
	}
	return r
}

// live returns an object of a namespace.
func live(t *testing.T, on *acctest.Cluster, ns, name string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(on.Kubectl(t, "get", name, "-n", ns, "-o", "json")), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
