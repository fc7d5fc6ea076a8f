package actions_test

import (
	"fmt"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// TestAccActionsOfAKindThatTheProviderDoesNotKnow uses a kind whose pods its controller creates again, which is why
// they can be restarted and evacuated.
func TestAccActionsOfAKindThatTheProviderDoesNotKnow(t *testing.T) {
	t.Parallel()
	on := acctest.OwnCluster(t)
	ns := on.Namespace(t)
	on.Apply(t, acctest.FleetCRD)
	on.Established(t, "fleets.example.com")
	on.Apply(t, "apiVersion: example.com/v1\nkind: Fleet\nmetadata: {name: trainer}\nspec: {size: 1}", "-n", ns)
	fleet := live(t, on, ns, "fleets.example.com/trainer")
	on.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: trainer}
spec: {selector: {kubetorch.com/service: trainer}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: trainer-a
  ownerReferences: [{apiVersion: example.com/v1, kind: Fleet, name: trainer, uid: %s, controller: true}]
spec: {replicas: 2, %s%s}`, fleet.GetUID(), selected, template), "-n", ns)
	on.WaitForOutput(t, "2", true, "get", "replicaset/trainer-a", "-n", ns, "-o", "jsonpath={.status.readyReplicas}")

	id := ns + "/trainer"
	acctest.ExpectText(t, invoke(t, on, "kt_restart", map[string]any{"id": id}).String(),
		"Deleted 2 pods of Fleet "+id+", whose controller creates new ones.",
		"Fleet "+id+" was restarted: 2 of 2 pods ready.")
	attributes := map[string]any{"id": id, "node": "cpu-0", "wait": false}
	acctest.ExpectText(t, invoke(t, on, "kt_evacuate", attributes).String(),
		"Evicted 2 pods of Fleet "+id+" from node cpu-0.")
	for action, attributes := range map[string]map[string]any{
		"scale": {"replicas": 3}, "suspend": {}, "resume": {},
	} {
		attributes["id"] = id
		acctest.ExpectText(t, invoke(t, on, "kt_"+action, attributes).String(), "Cannot "+action+" Fleet "+id,
			"The provider does not know the kind Fleet", "Next step: Change `manifest` of the kt_compute")
	}
}

func TestAccActionsOfExistingPodsNameTheirOwner(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: trainer}
spec: {selector: {app: mine}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: owner}
spec:
  selector: {matchLabels: {app: mine}}
  template: {metadata: {labels: {app: mine}}, spec: {containers: [{name: a, image: "a:1"}]}}`, "-n", ns)
	cluster.Kubectl(t, "rollout", "status", "deployment/owner", "-n", ns)

	id := ns + "/trainer"
	for action, attributes := range map[string]map[string]any{
		"restart": {}, "scale": {"replicas": 3}, "suspend": {}, "resume": {},
	} {
		attributes["id"] = id
		acctest.ExpectText(t, invoke(t, cluster, "kt_"+action, attributes).String(),
			"The compute has no workload: it selects pods that Deployment "+ns+"/owner controls.",
			"Next step: Use the tool that manages the Deployment")
	}
	node := cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[0].spec.nodeName}")
	attributes := map[string]any{"id": id, "node": node, "wait": false}
	acctest.ExpectText(t, invoke(t, cluster, "kt_evacuate", attributes).String(),
		"Evicted 1 pod of Deployment "+ns+"/owner from node "+node+".")
}

func TestAccActionsOfPodsWithoutAControllerAreRefused(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, `
apiVersion: v1
kind: Service
metadata: {name: trainer}
spec: {selector: {app: mine}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: own, labels: {app: mine}}
spec: {containers: [{name: a, image: "a:1"}]}`, "-n", ns)
	cluster.Kubectl(t, "wait", "--for=condition=Ready", "pod/own", "-n", ns)
	for _, action := range []string{"restart", "suspend", "resume"} {
		acctest.ExpectText(t, invoke(t, cluster, "kt_"+action, map[string]any{"id": ns + "/trainer"}).String(),
			"Cannot "+action+" compute "+ns+"/trainer", "no controller of its pods was found")
	}
}
