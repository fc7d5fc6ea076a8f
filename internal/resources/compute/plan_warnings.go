package compute

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// warnOfQueue warns of problems that will prevent the queue from admitting the workload.
func (p *preview) warnOfQueue(ctx context.Context, workload *unstructured.Unstructured) {
	if p.Plan.QueueName.IsNull() {
		return
	}
	of := workload.GroupVersionKind().GroupKind()
	if p.Plan.QueueScheduler.ValueString() != kind.QueueSchedulerKAI && observe.KueueExcludes(ctx, p.Data.Cluster, of) {
		consequence := "the pods of the compute do not count against the quota of the queue"
		if kind.WorkloadOf(of).Admitted {
			consequence = "nothing starts the compute, which is created suspended"
		}
		p.Diags.Append(queueWithoutEffect(fmt.Sprintf("The configuration of Kueue, kueue-manager-config in namespace "+
			"kueue-system, does not include the kind %s: %s.", of.Kind, consequence), "", of))
		return
	}
	pods, requests := manifest.Demand(workload, decodeFieldPath(p.Plan.PodTemplatePath)...)
	demand := ready.Demand{Pods: int(pods), Requests: requests}
	if p.Plan.QueueScheduler.ValueString() != kind.QueueSchedulerKAI {
		demand.Own = p.freedWorkloads(ctx)
	}
	cause, err := observe.QueueForecast(ctx, p.Data.Cluster,
		p.Plan.QueueScheduler.ValueString(), workload.GetNamespace(), p.Plan.QueueName.ValueString(), demand,
		workload.GetKind()+" "+p.Plan.ID.ValueString())
	if err != nil || cause == nil {
		return // the dry run has reported the problem
	}
	queue := kind.LocalQueue(kind.KueueVersion).Named(workload.GetNamespace(), p.Plan.QueueName.ValueString())
	if p.Plan.QueueScheduler.ValueString() == kind.QueueSchedulerKAI {
		queue = kind.KAIQueue().Named("", p.Plan.QueueName.ValueString())
	}
	if cause.Reason == ready.ReasonQueueMissing && p.Data.Run.PlansObject(manifest.Key(queue)) {
		return // a kt_queue of the same run creates it
	}
	summary := "The queue will not admit the compute immediately"
	if cause.Reason == ready.ReasonQueueShared {
		summary = "The queue may not admit the compute immediately"
	}
	p.Diags.AddAttributeWarning(path.Root("queue_name"), summary, tf.Explain(tf.ComputeType, *cause, nil))
}

// freedWorkloads returns the Workloads of Kueue whose quota becomes free for the compute: its own, or those of the
// compute that it replaces, which may have another name or namespace.
func (p *preview) freedWorkloads(ctx context.Context) []*unstructured.Unstructured {
	if !p.Creating {
		own, _, _ := observe.KueueWorkloads(ctx, p.Data.Cluster, p.State.Namespace.ValueString(), p.State.podLabels(),
			apitypes.UID(p.State.UID.ValueString()))
		return own
	}
	uids := map[string][]apitypes.UID{} // by namespace and name
	for key, replaced := range p.Replaced {
		_, name, _ := strings.Cut(key, "/") // of [manifest.Key]
		uids[name] = append(uids[name], replaced.UID)
	}
	var freed []*unstructured.Unstructured
	for key, replaced := range uids {
		namespace, name, _ := strings.Cut(key, "/")
		held, _, _ := observe.KueueWorkloads(ctx, p.Data.Cluster, namespace,
			map[string]string{kind.ServiceLabel: name}, replaced...)
		freed = append(freed, held...)
	}
	return freed
}

// warnOfGPUs warns of requests for GPUs that no node can satisfy.
func (p *preview) warnOfGPUs(ctx context.Context, workload *unstructured.Unstructured) {
	if p.Data.Defaults.IgnoreGPUs {
		return
	}
	for _, demand := range gpuDemands(manifest.Demands(workload, decodeFieldPath(p.Plan.PodTemplatePath)...)) {
		cause, err := observe.GPUForecast(ctx, p.Data.Cluster, demand, workload.GetKind()+" "+p.Plan.ID.ValueString())
		if err != nil {
			return // the dry run has reported the problem
		}
		if cause == nil {
			continue
		}
		at := path.Root("gpus")
		if cause.Subject == "labels" {
			at = path.Root("gpu_type")
		}
		p.Diags.AddAttributeWarning(at, "No node can run the pods", tf.Explain(tf.ComputeType, *cause, nil))
		return
	}
}

// gpuDemands returns the demands of groups of pods, with one for all groups whose pods fit on the same nodes.
func gpuDemands(groups []manifest.GroupDemand) []observe.GPUDemand {
	var demands []observe.GPUDemand
	for _, group := range groups {
		gpus := group.Requests[kind.GPUResource]
		same := slices.IndexFunc(demands, func(d observe.GPUDemand) bool {
			return d.Each == gpus.Value() && maps.Equal(d.NodeSelector, group.NodeSelector)
		})
		if same < 0 {
			same = len(demands)
			demands = append(demands, observe.GPUDemand{NodeSelector: group.NodeSelector, Each: gpus.Value()})
		}
		demands[same].Pods += group.Pods
	}
	return demands
}

// warnOfAddedContainer warns that the pods of a manifest get a container with Kubetorch's server beside their own.
func (p *preview) warnOfAddedContainer(workload *unstructured.Unstructured) {
	if p.Plan.Manifest.IsNull() || !p.Plan.Command.IsNull() || !p.Plan.Args.IsNull() ||
		!p.Creating && p.Plan.Manifest.Equal(p.State.Manifest) {
		return
	}
	own := &unstructured.Unstructured{Object: p.converter.decodeManifest(p.Plan.Manifest)}
	added, others := manifest.AddedBeside(own, workload, decodeFieldPath(p.Plan.PodTemplatePath)...)
	if len(others) == 0 {
		return
	}
	p.Diags.AddAttributeWarning(path.Root("manifest"), "A server of Kubetorch is added to the pods",
		fmt.Sprintf("The attributes describe the container %[2]s. It is not among those of manifest (%[1]s), so it "+
			"is added, with the GPUs of gpus, and runs Kubetorch's server next to the others.\n\nNext step: If the "+
			"attributes should apply to one of them, name it %[2]s in manifest.", strings.Join(others, ", "), added))
}

// warnOfSurge warns of the additional GPUs that the configured limits of a rolling update require.
func (p *preview) warnOfSurge(workload *unstructured.Unstructured) {
	pods, gpus := manifest.SurgeOf(workload)
	if gpus == 0 {
		return
	}
	p.Diags.AddAttributeWarning(path.Root("max_surge"), "An update needs additional GPUs",
		fmt.Sprintf("A rolling update starts up to %d pods in addition to those of replicas, with %d GPUs in total. "+
			"Without that many free GPUs, these pods wait, and the update waits with them.\n\nNext step: Make sure "+
			"that the GPUs are free, or set max_surge = 0 and max_unavailable = 1.", pods, gpus))
}

// warnOfMissingRequests warns of a utilization that the autoscaler can no longer compute.
func (p *preview) warnOfMissingRequests() {
	before := manifest.MissingRequests(withRole(p.prior, manifest.RoleAutoscaler), workloadIn(p.prior)).Error()
	for _, w := range manifest.MissingRequests(withRole(p.rendered, manifest.RoleAutoscaler), workloadIn(p.rendered)) {
		if !strings.Contains(before, w.Error()) {
			p.Diags.AddAttributeWarning(tf.PathOf(w.Path), w.Summary, w.Detail)
		}
	}
}

// warnOfServiceAccount warns of a missing service account.
func (p *preview) warnOfServiceAccount(ctx context.Context) {
	account, namespace := p.Plan.ServiceAccountName.ValueString(), p.Plan.Namespace.ValueString()
	const automatic = "default" // Kubernetes creates it in each namespace
	if p.Plan.Mode.ValueString() == kind.ModeSelector || account == "" || account == automatic ||
		p.Data.Cluster.MayExist(ctx, kube.Ref{Kind: kind.ServiceAccount(), Namespace: namespace, Name: account}) {
		return
	}
	p.Diags.AddAttributeWarning(path.Root("service_account_name"), "The service account does not exist yet",
		tf.Explain(tf.ComputeType, ready.ServiceAccountMissing(namespace, account), nil))
}

// warnOfExposure warns of a missing IngressClass or Gateway, without which no controller serves the new Ingress or
// route.
func (p *preview) warnOfExposure(ctx context.Context) {
	object := withRole(p.rendered, manifest.RoleExpose)
	if object == nil || !p.Creating && !p.State.Expose.IsNull() {
		return
	}
	exposed, at := p.Plan.observe(object).Expose, path.Root("expose").AtName("ingress_class_name")
	ref := kube.Ref{Kind: kind.IngressClass(), Name: exposed.IngressClassName}
	if gateway := exposed.Gateway; gateway != nil {
		ref, at = kube.Ref{Kind: kind.Gateway(), Name: gateway.Name,
			Namespace: cmp.Or(gateway.Namespace, object.GetNamespace())}, path.Root("expose").AtName("gateway")
	}
	if ref.Name == "" || p.Data.Cluster.MayExist(ctx, ref) {
		return
	}
	p.Diags.AddAttributeWarning(at, ref.String()+" does not exist yet",
		fmt.Sprintf("Without it, no controller serves the %s, and clients cannot reach the compute.\n\n"+
			"Next step: Correct the name, or create it, for example with the installation of its controller.\n"+
			"Investigate with:\n  %s", object.GetKind(), ready.Kubectl(ref.Namespace, "get", ref.Kind.Argument())))
}

// warnOfDisruptionBudget warns of a new budget that prevents all evictions.
func (p *preview) warnOfDisruptionBudget() {
	if !p.Creating && !p.State.DisruptionBudget.IsNull() {
		return
	}
	workload, object := workloadIn(p.rendered), withRole(p.rendered, manifest.RoleDisruptionBudget)
	if workload == nil || object == nil || !p.Plan.observe(object).DisruptionBudget.AllowsNoEviction(workload) {
		return
	}
	p.Diags.AddAttributeWarning(path.Root("pod_disruption_budget"), "The budget allows no eviction",
		fmt.Sprintf("Kubernetes computes max_unavailable and percentages from the scale of the controller of the "+
			"pods, and the controllers of a %s have none. It then rejects every eviction, so that no node with one of "+
			"the pods can be drained.\n\nNext step: Set min_available to a number of pods.", workload.GetKind()))
}

// warnOfUnchangedPods warns if the pod template changes but running pods are not updated, because the apply would
// seem to have changed them, and if the update removes pods and so fails the workload. It also warns if Kueue replaces
// all pods because of the template or their number.
func (p *preview) warnOfUnchangedPods(ctx context.Context) {
	before, after := workloadIn(p.prior), workloadIn(p.rendered)
	if before == nil || after == nil || len(p.Replace) > 0 || p.Plan.Suspend.ValueBool() ||
		manifest.IsSuspended(before.Object, kind.WorkloadOf(before.GroupVersionKind().GroupKind())) {
		return // no pods of the old template will exist
	}
	const newPods = "\n\nNext step: To create all pods again, replace the compute with\n" +
		"  terraform apply -replace=ADDRESS\nor apply it with suspend = true and again without."
	if field := manifest.FailsSmaller(before, after); field != "" {
		p.Diags.AddAttributeWarning(path.Root("manifests"), "The update fails the "+after.GetKind(),
			fmt.Sprintf("The number of pods at %s decreases, but the controller of a %s counts removed pods as "+
				"failed, and the job with them.%s", field, after.GetKind(), newPods))
	}
	if p.State.requeues(ctx, p.Data.Cluster, before, after) {
		p.Diags.AddAttributeWarning(path.Root("manifests"), "Kueue stops all pods and admits the compute again",
			fmt.Sprintf("The containers or the numbers of pods are no longer those that Kueue has admitted. Kueue "+
				"therefore suspends the %s, which deletes all its pods. It starts new ones when queue %s has enough "+
				"quota for them.", after.GetKind(), p.Plan.QueueName.ValueString()))
		return
	}
	for _, g := range manifest.KeptGroups(before, after) {
		labels := kind.WorkloadOf(after.GroupVersionKind().GroupKind()).PodLabel + "=" + after.GetName() + "," + g.Label
		p.Diags.AddAttributeWarning(path.Root("manifests"), "Pods of a removed group keep running",
			fmt.Sprintf("The plan removes or renames the group %s, but the controller of a %s does not delete its "+
				"pods. They keep running, with their GPUs.\n\nNext step: After the apply, delete them:\n  %s",
				g.Name, after.GetKind(), ready.Kubectl(after.GetNamespace(), "delete", "pods", "-l", labels)))
	}
	if !manifest.KeepsPods(before, after) {
		return
	}
	p.Diags.AddAttributeWarning(path.Root("manifests"), "Running pods are not updated",
		fmt.Sprintf("The pod template changes, but the controller of a %s uses it only for new pods.%s",
			after.GetKind(), newPods))
}

// warnOfRestart warns if the pods restart because the configuration sets another version or revision.
func (p *preview) warnOfRestart() {
	if p.Creating || len(p.Replace) > 0 || p.Plan.Suspend.ValueBool() || p.samePods(p.prior, p.rendered) {
		return
	}
	warn := func(name string, configured bool, before, after attr.Value) {
		if configured && !before.IsNull() && !before.Equal(after) {
			p.Diags.AddAttributeWarning(path.Root(name), "The pods restart",
				fmt.Sprintf("%s changes from %s to %s, and with it the pod template. Changing this restarts the pods.",
					name, before, after))
		}
	}
	hasVersion := !p.Config.KubetorchVersion.IsNull() || p.Data.Defaults.KubetorchVersion != ""
	warn("kubetorch_version", hasVersion, p.State.KubetorchVersion, p.Plan.KubetorchVersion)
	warn("renderer_revision", !p.Config.RendererRevision.IsNull(), p.State.RendererRevision, p.Plan.RendererRevision)
}
