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
	cluster.Kubectl(t, "scale", "-n", ns, "deployment/trainer", "--replicas=0") // the autoscaler never leaves zero
	acctest.ExpectText(t, act("resume", map[string]any{}), "Unknown number of pods", "Next step: Set `replicas`")
	act("resume", map[string]any{"replicas": 3})
	if got := replicas(); got != "3" {
		t.Errorf("%s replicas after somebody else had stopped all pods", got)
	}
	act("suspend", map[string]any{})
	cluster.Kubectl(t, "scale", "-n", ns, "deployment/trainer", "--replicas=2") // the record of the suspension is stale
	cluster.Kubectl(t, "scale", "-n", ns, "deployment/trainer", "--replicas=0")
	act("resume", map[string]any{"replicas": 3})
	if got := replicas(); got != "3" {
		t.Errorf("%s replicas after somebody else had resumed and stopped all pods", got)
	}
}

// An autoscaler sets the number of groups, of which the number of pods is a multiple.
func TestAccScaleRefusesAnAutoscaledLeaderWorkerSet(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t)
	ns := withCRDs.Namespace(t)
	withCRDs.Apply(t, "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: trainer, "+
		"labels: {kubetorch.com/service: trainer}}\nspec: "+specs()["LeaderWorkerSet"]+"\n---\n"+
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: ours}\nspec: {scaleTargetRef: "+
		"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: trainer}, minReplicas: 1, "+
		"maxReplicas: 4, metrics: [{type: External, external: {metric: {name: missing}, target: {type: AverageValue, "+
		"averageValue: 1}}}]}\n", "-n", ns)
	acctest.ExpectText(t, invoke(t, withCRDs, "kt_scale", map[string]any{"id": ns + "/trainer", "replicas": 4,
		"wait": false}).String(), "Cannot scale LeaderWorkerSet", "HorizontalPodAutoscaler "+ns+"/ours sets the number")
}

// KubeRay does not start fewer workers than the minimum of their group, whatever their number is.
func TestAccScaleRefusesFewerPodsThanARayClusterKeeps(t *testing.T) {
	t.Parallel()
	withCRDs.Started(t)
	ns := withCRDs.Namespace(t)
	spec := strings.Replace(rayCluster, "minReplicas: 0", "minReplicas: 1", 1)
	withCRDs.Apply(t, "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: trainer, labels: "+
		"{kubetorch.com/service: trainer}}\nspec: "+spec+"\n", "-n", ns)
	act := func(replicas int) string {
		return invoke(t, withCRDs, "kt_scale", map[string]any{"id": ns + "/trainer", "replicas": replicas,
			"wait": false}).String()
	}
	acctest.ExpectText(t, act(1), "Invalid number of pods", "at least 2 pods (`spec.workerGroupSpecs.0.minReplicas`)",
		"Next step: Use a larger number, or stop all pods with `kt_suspend`.", "The action has not changed anything.")
	acctest.ExpectText(t, act(3), "from 2 to 3 pods.")
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
