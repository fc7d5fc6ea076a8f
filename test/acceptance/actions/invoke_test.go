package actions_test

import (
	"encoding/json"
	"math/big"
	"slices"
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

// list returns the sorted IDs of the resources of a namespace that a query finds.
func list(t *testing.T, on *acctest.Cluster, typ, ns string) []string {
	t.Helper()
	server := acctest.ConfiguredProvider(t, map[string]string{"config_path": on.Started(t).Kubeconfig()})
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	object, _ := schemas.ListResourceSchemas[typ].ValueType().(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, of := range object.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
	}
	values["namespace"] = tftypes.NewValue(tftypes.String, ns)
	lister, _ := server.(tfprotov6.ListResourceServer)
	stream, err := lister.ListResource(t.Context(), &tfprotov6.ListResourceRequest{
		TypeName: typ, Config: acctest.DynamicValue(t, object, values), IncludeResource: true, Limit: 1000,
	})
	if err != nil {
		t.Fatal(err)
	}
	resource, _ := schemas.ResourceSchemas[typ].ValueType().(tftypes.Object)
	var ids []string
	for found := range stream.Results {
		if len(found.Diagnostics) > 0 {
			t.Error(found.DisplayName, found.Diagnostics[0].Summary, found.Diagnostics[0].Detail)
			continue
		}
		value, err := found.Resource.Unmarshal(resource)
		var attributes map[string]tftypes.Value
		if err == nil {
			err = value.As(&attributes)
		}
		var id string
		if err == nil {
			err = attributes["id"].As(&id)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
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
