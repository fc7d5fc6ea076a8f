package actions_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The metric of the HorizontalPodAutoscaler does not exist, so it changes nothing while the test runs.
func TestAccActionsRefuseWhatAnAutoscalerWouldRevert(t *testing.T) {
	t.Parallel()
	cluster.Started(t)
	ns := cluster.Namespace(t)
	cluster.Apply(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: trainer, labels: "+
		"{kubetorch.com/service: trainer}}\nspec: "+specs()["Deployment"]+"\n---\n"+
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: ours}\nspec: {scaleTargetRef: "+
		"{apiVersion: apps/v1, kind: Deployment, name: trainer}, minReplicas: 1, maxReplicas: 4, metrics: [{type: "+
		"External, external: {metric: {name: missing}, target: {type: AverageValue, averageValue: 1}}}]}\n", "-n", ns)
	act := func(action string, attributes map[string]any) string {
		attributes["id"], attributes["wait"] = ns+"/trainer", false
		return invoke(t, cluster, "kt_"+action, attributes).String()
	}
	replicas := func() string {
		return cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o", "jsonpath={.spec.replicas}")
	}
	acctest.ExpectText(t, act("scale", map[string]any{"replicas": 3}), "Cannot scale Deployment",
		"HorizontalPodAutoscaler "+ns+"/ours sets the number of pods", "`autoscale.max_scale`")
	if got := replicas(); got != "2" {
		t.Errorf("%s replicas after a refused action", got)
	}
	act("suspend", map[string]any{}) // a HorizontalPodAutoscaler leaves zero pods alone
	if got := replicas(); got != "0" {
		t.Errorf("%s replicas after a suspension", got)
	}
	acctest.ExpectText(t, act("resume", map[string]any{"replicas": 3}), "Cannot ",
		"HorizontalPodAutoscaler "+ns+"/ours sets the number of pods")
	act("resume", map[string]any{})
	if got := replicas(); got != "2" {
		t.Errorf("%s replicas after a resumption", got)
	}
}

// KubeRay would report that such a RayJob has failed.
func TestAccRayJobThatKeepsItsClusterIsNotSuspended(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t)
	ns := withCRDs.Namespace(t)
	spec := strings.Replace(specs()["RayJob"], "shutdownAfterJobFinishes: true", "shutdownAfterJobFinishes: false", 1)
	withCRDs.Apply(t, "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: trainer, labels: "+
		"{kubetorch.com/service: trainer}}\nspec: "+spec+"\n", "-n", ns)
	acctest.ExpectText(t, invoke(t, withCRDs, "kt_suspend", map[string]any{"id": ns + "/trainer", "wait": false}).
		String(), "Cannot suspend RayJob", "`spec.shutdownAfterJobFinishes`", "Set this field of the object to true")
}
