package actions_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Nothing is changed, and the error says why at once.
func TestAccActionsOfWorkloadsThatCannotChange(t *testing.T) {
	t.Parallel()
	cluster.Started(t)
	command := func(of tftypes.Type) tftypes.Value {
		return tftypes.NewValue(of, []tftypes.Value{tftypes.NewValue(tftypes.String, "true")})
	}
	empty := func(of tftypes.Type) tftypes.Value {
		object, _ := of.(tftypes.Object)
		values := map[string]tftypes.Value{}
		for name, attribute := range object.AttributeTypes {
			values[name] = tftypes.NewValue(attribute, nil)
		}
		return tftypes.NewValue(object, values)
	}
	const claims = `{replicas: 1, serviceName: trainer, ` + selected + `template: {metadata: {labels: ` +
		`{kubetorch.com/service: trainer}}, spec: {containers: [{name: kubetorch, image: "a:1", ` +
		`volumeMounts: [{name: data, mountPath: /data}]}]}}, volumeClaimTemplates: [{metadata: {name: data}, ` +
		`spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}`
	for name, c := range map[string]struct {
		version, kind, spec string
		deleted             bool   // it has a finalizer and is being deleted
		until               string // condition to wait for, or ""
		action              string
		attributes          map[string]any
		texts               []string
	}{
		"a Job that is not Indexed": {"batch/v1", "Job", "{parallelism: 2, completions: 2, " + jobTemplate + "}",
			false, "", "scale", map[string]any{"replicas": 3}, []string{"Cannot scale Job", "is not `Indexed`",
				"Next step: "}},
		"a Job that has ended": {"batch/v1", "Job", "{completionMode: Indexed, completions: 1, " + jobTemplate + "}",
			false, "complete", "scale", map[string]any{"replicas": 3}, []string{"Cannot scale Job", "It has ended",
				"Next step: "}},
		"a Deployment that is being deleted": {"apps/v1", "Deployment", specs()["Deployment"], true, "",
			"scale", map[string]any{"replicas": 3}, []string{"Cannot scale Deployment", "It is being deleted."}},
		"the suspension of one": {"apps/v1", "Deployment", specs()["Deployment"], true, "",
			"suspend", nil, []string{"Cannot suspend Deployment", "It is being deleted."}},
		"a Job from a StatefulSet with claims": {"apps/v1", "StatefulSet", claims, false, "",
			"run", map[string]any{"command": command, "job": empty, "mask_secrets": false},
			[]string{"Cannot create a Job from StatefulSet", `mounts a volume "data" of its own`, "Remove `job`"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			object := fmt.Sprintf("%s/trainer", c.kind)
			cluster.Apply(t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: trainer, finalizers: "+
				"[example.com/test], labels: {kubetorch.com/service: trainer}}\nspec: %s\n", c.version, c.kind, c.spec),
				"-n", ns)
			t.Cleanup(func() {
				cluster.Kubectl(t, "patch", object, "-n", ns, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
			})
			if c.until != "" {
				cluster.Kubectl(t, "wait", object, "-n", ns, "--for=condition="+c.until, "--timeout=2m")
			}
			if c.deleted {
				cluster.Kubectl(t, "delete", object, "-n", ns, "--wait=false")
			}
			attributes := map[string]any{"id": ns + "/trainer"}
			maps.Copy(attributes, c.attributes)
			r := invoke(t, cluster, "kt_"+c.action, attributes)
			acctest.ExpectText(t, r.String(), append(c.texts, "The action has not changed anything.")...)
		})
	}
}
