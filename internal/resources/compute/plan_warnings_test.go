package compute

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

func TestGroupsOfPodsForTheSameNodesNeedTheirGPUsTogether(t *testing.T) {
	t.Parallel()
	group := func(pods, gpus int64, product string) manifest.GroupDemand {
		return manifest.GroupDemand{Pods: pods, NodeSelector: map[string]string{"product": product},
			Requests: corev1.ResourceList{kind.GPUResource: *resource.NewQuantity(gpus, resource.DecimalSI)}}
	}
	demand := func(pods, gpus int64, product string) observe.GPUDemand {
		return observe.GPUDemand{NodeSelector: map[string]string{"product": product}, Each: gpus, Pods: pods}
	}
	got := gpuDemands([]manifest.GroupDemand{group(1, 8, "h100"), group(2, 8, "l4"), group(3, 8, "h100"),
		group(4, 1, "h100")})
	want := []observe.GPUDemand{demand(4, 8, "h100"), demand(2, 8, "l4"), demand(4, 1, "h100")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// rayManifest sets the manifest of a RayCluster with these worker groups.
func rayManifest(groups string) func(*model) {
	return func(m *model) {
		m.Replicas = types.Int64Null()
		m.Manifest = tf.DocumentOf("{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: " +
			"{spec: {containers: [{name: ray-head, image: a}]}}}, workerGroupSpecs: [" + groups + "]}}")
	}
}

func TestPlanWarnsOfPodsOfARemovedGroup(t *testing.T) {
	t.Parallel()
	const train, eval = "{groupName: train, replicas: 1}, ", "{groupName: eval, replicas: 1}, "
	for name, c := range map[string]struct {
		before, after string
		want          string
	}{
		"removed": {train + eval, train, "kubectl -n ml delete pods -l ray.io/cluster=trainer,ray.io/group=eval"},
		"moved":   {train + eval, eval + train, ""},
	} {
		objects := func(groups string) owned.Objects { return rendered(t, planned(t, rayManifest(groups)), defaults) }
		p := &preview{&planner{planning: &planning{Plan: planned(t), State: planned(t),
			Data: &tf.ProviderData{Run: &run.Run{}}},
			prior: objects(c.before), rendered: objects(c.after)}}
		p.warnOfUnchangedPods(t.Context())
		if len(p.Diags) > 0 != (c.want != "") || c.want != "" && !strings.Contains(p.Diags[0].Detail(), c.want) {
			t.Errorf("%s: %s, want %q", name, p.Diags, c.want)
		}
	}
}

func TestPlanWarnsOfAnAddedServer(t *testing.T) {
	t.Parallel()
	image, command := types.StringValue("ours:1"), types.StringValue("serve")
	for name, c := range map[string]struct {
		change func(*model)
		warns  bool
	}{
		"without an image": {func(*model) {}, true},
		"with an image":    {func(m *model) { m.Image = image }, true},
		"with an image and a command": {func(m *model) {
			m.Image, m.Command = image, types.ListValueMust(types.StringType, []attr.Value{command})
		}, false},
	} {
		plan := planned(t, rayManifest("{groupName: a, replicas: 1}"), c.change)
		p := &preview{&planner{
			planning: &planning{Creating: true, Plan: plan, Config: plan}, converter: newConverter(t.Context())}}
		p.warnOfAddedContainer(workloadIn(rendered(t, plan, defaults)))
		if len(p.Diags) > 0 != c.warns {
			t.Errorf("%s: %s", name, p.Diags)
		}
	}
}
