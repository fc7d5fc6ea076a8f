package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
)

// warn warns about what Kueue or KAI will do with the planned objects.
func (p *planner) warn(ctx context.Context) {
	p.warnOfMissing(ctx)
	p.warnOfParent(ctx)
	adopting := p.Plan.AdoptExisting.ValueBool() && len(p.Replaced) == 0
	if p.Creating && !adopting {
		return
	}
	live, err := p.Data.Cluster.Store.Get(ctx, p.Plan.ref())
	if err != nil {
		return // there is nothing to adopt, or the dry run has reported the problem
	}
	before := observed([]*unstructured.Unstructured{live})
	if !p.Plan.ofKAI() {
		status := ready.AssessClusterQueue(live)
		p.warnOfEviction(before.Queue, status)
		p.warnOfUsage(before.Queue, status)
		p.warnOfRemoval(before.Queue, status)
	}
	if p.Creating || len(p.PrivateState.Imported) > 0 {
		p.warnOfRetained(before)
	}
}

// warnOfMissing warns about flavors and admission checks that do not exist, without which Kueue admits nothing.
func (p *planner) warnOfMissing(ctx context.Context) {
	missing := func(ref kube.Ref) bool {
		if p.plans(ref) {
			return false
		}
		_, err := p.Data.Cluster.API.Get(ctx, ref)
		return kube.IsNotFound(err)
	}
	const consequence = "The queue is inactive until %s exists: it admits no workloads.\n\nNext step: If this run " +
		"does not create it, create it or correct the name."
	for i, flavor := range p.wanted.Flavors {
		if ref := flavorRef(flavor.Name); !flavor.Defined() && missing(ref) {
			p.Diags.AddAttributeWarning(path.Root("flavors").AtListIndex(i).AtName("name"),
				"The flavor does not exist yet", fmt.Sprintf(consequence, ref))
		}
	}
	for i, name := range p.wanted.AdmissionChecks {
		if ref := (kube.Ref{Kind: kind.AdmissionCheck(kind.KueueVersion), Name: name}); missing(ref) {
			p.Diags.AddAttributeWarning(path.Root("admission_checks").AtListIndex(i),
				"The admission check does not exist yet", fmt.Sprintf(consequence, ref))
		}
	}
}

// plans reports whether another queue of the same run manages an object.
func (p *planner) plans(ref kube.Ref) bool {
	return p.Data.Run.PlansObject(manifest.Key(ref.Kind.Named("", ref.Name)))
}

// warnOfParent warns about a parent queue of KAI that does not exist, or that has smaller quotas.
func (p *planner) warnOfParent(ctx context.Context) {
	if p.wanted.KAI == nil || p.wanted.KAI.ParentQueue == "" {
		return
	}
	parent, err := p.Data.Cluster.API.Get(ctx, kaiQueueRef(p.wanted.KAI.ParentQueue))
	if err == nil || kube.IsNotFound(err) && !p.changesParent() {
		p.Diags.Append(parentWarnings(*p.wanted.KAI, parent)...)
	}
}

// parentWarnings returns warnings about the parent queue of a queue. It is nil if it does not exist. KAI accepts such a
// queue by default. Its scheduler ignores queues without their parent queue (cleanQueueOrphans in
// pkg/scheduler/cache/cluster_info of KAI-Scheduler).
func parentWarnings(q kai.Queue, parent *unstructured.Unstructured) diag.Diagnostics {
	var diags diag.Diagnostics
	if parent == nil {
		diags.AddAttributeWarning(path.Root("kai").AtName("parent_queue"), "The parent queue does not exist yet",
			fmt.Sprintf("KAI ignores the queue until %s exists: it schedules none of its workloads.\n\nNext step: If "+
				"this run does not create it, create it or correct the name.", kaiQueueRef(q.ParentQueue)))
		return diags
	}
	for _, resource := range kai.Exceeding(q, kai.Observe(parent)) {
		diags.AddAttributeWarning(path.Root("kai").AtName(resource).AtName("quota"),
			"Quota above that of the parent queue", fmt.Sprintf("The quota is larger than the one that the parent "+
				"queue %q has now. KAI accepts that, but cannot guarantee the quota.\n\nNext step: Reduce the quota, "+
				"or increase that of the parent queue, unless this run does.", q.ParentQueue))
	}
	return diags
}

// changesParent reports whether this run also manages the parent queue.
func (p *planner) changesParent() bool {
	return p.wanted.KAI != nil && p.wanted.KAI.ParentQueue != "" && p.plans(kaiQueueRef(p.wanted.KAI.ParentQueue))
}

// warnOfEviction warns if the plan evicts the admitted workloads.
func (p *planner) warnOfEviction(before kueue.Queue, status ready.ClusterQueueStatus) {
	if before.StopPolicy == kueue.HoldAndDrain || p.wanted.StopPolicy != kueue.HoldAndDrain || status.Reserving == 0 {
		return
	}
	p.Diags.AddAttributeWarning(path.Root("stop_policy"), "Workloads will be evicted",
		fmt.Sprintf("stop_policy = %q makes Kueue evict the workloads of the queue with reserved quota: %d now. Their "+
			"pods are deleted, and they wait in the queue until stop_policy is \"None\".", kueue.HoldAndDrain,
			status.Reserving))
}

const belowUsage = "Quota below current usage"

// warnOfUsage warns about quotas below what is in use. Kueue evicts no workload for that, but other queues may reclaim
// what then counts as borrowed.
func (p *planner) warnOfUsage(before kueue.Queue, status ready.ClusterQueueStatus) {
	quotas := quotasOf(before)
	for i, flavor := range p.wanted.Flavors {
		for _, name := range slices.Sorted(maps.Keys(flavor.Quotas)) {
			used, quota := status.Reserved[flavor.Name][name], flavor.Quotas[name]
			was, existed := quotas[flavor.Name][name]
			reduced := existed && quota.Nominal.Cmp(was.Nominal) < 0
			at := path.Root("flavors").AtListIndex(i).AtName("quotas").AtMapKey(name)
			inUse := fmt.Sprintf("%s of %s in flavor %s is in use", &used, name, flavor.Name)
			if most, bounded := mostOf(quota, p.wanted.Cohort); bounded && used.Cmp(most) > 0 {
				p.Diags.AddAttributeWarning(at, belowUsage, fmt.Sprintf("%s, and the plan sets a maximum of %s. "+
					"Admitted workloads continue. The queue admits no workload that requests %s in this flavor until "+
					"the usage is low enough.", inUse, &most, name))
			} else if reduced && used.Cmp(quota.Nominal) > 0 {
				p.Diags.AddAttributeWarning(at, belowUsage, fmt.Sprintf("%s, and the plan reduces nominal to %s. "+
					"The rest then counts as borrowed: other queues of the cohort may evict workloads of this queue "+
					"to reclaim it.", inUse, &quota.Nominal))
			}
		}
	}
}

// warnOfRemoval warns about quotas that the plan removes while they are in use.
func (p *planner) warnOfRemoval(before kueue.Queue, status ready.ClusterQueueStatus) {
	wanted := quotasOf(p.wanted.Queue)
	for _, flavor := range before.Flavors {
		for _, name := range slices.Sorted(maps.Keys(flavor.Quotas)) {
			used := status.Reserved[flavor.Name][name]
			if _, kept := wanted[flavor.Name][name]; kept || used.Sign() <= 0 {
				continue
			}
			p.Diags.AddAttributeWarning(path.Root("flavors"), "Quota in use is removed", fmt.Sprintf("%s of %s in "+
				"flavor %s is in use, and the plan removes this quota. Admitted workloads continue, and the queue "+
				"admits no others with it.", &used, name, flavor.Name))
		}
	}
}

func quotasOf(queue kueue.Queue) map[string]map[string]kueue.Quota {
	quotas := map[string]map[string]kueue.Quota{}
	for _, flavor := range queue.Flavors {
		quotas[flavor.Name] = flavor.Quotas
	}
	return quotas
}

// warnOfRetained warns about settings of an imported or adopted queue that stay: an apply removes no fields of other
// clients.
func (p *planner) warnOfRetained(before spec) {
	kept, wanted, defaults := settings(before), settings(p.wanted), defaultSettings()
	prior := settings(observed(p.prior.Sorted(kueue.Rank)))
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if kept[name] == "" || kept[name] == defaults[name] || wanted[name] != "" || prior[name] != "" {
			continue
		}
		attribute, _, _ := strings.Cut(name, ".")
		p.Diags.AddAttributeWarning(path.Root(attribute), "The queue keeps "+name+" of another client",
			fmt.Sprintf("%s has the value %s, which the configuration does not set. The apply does not remove it.\n\n"+
				"Next step: Set %[1]s in the configuration, or remove the field with kubectl.", name, kept[name]))
	}
}

// settings returns the optional settings of a queue by attribute, or "" for one that is not set.
func settings(queue spec) map[string]string {
	out := map[string]string{
		"cohort": queue.Cohort, "stop_policy": queue.StopPolicy, "queueing_strategy": queue.QueueingStrategy,
		"admission_checks": strings.Join(queue.AdmissionChecks, ", "),
	}
	if weight := queue.FairShareWeight; weight != nil {
		out["fair_share_weight"] = weight.String()
	}
	if policies := queue.Preemption; policies != nil {
		out["preemption.within_cluster_queue"] = policies.WithinClusterQueue
		out["preemption.reclaim_within_cohort"] = policies.ReclaimWithinCohort
		out["preemption.borrow_within_cohort"] = policies.BorrowWithinCohort
	}
	if queue.KAI != nil {
		maps.Copy(out, kaiSettings(*queue.KAI))
	}
	return out
}

func kaiSettings(queue kai.Queue) map[string]string {
	out := map[string]string{"kai.parent_queue": queue.ParentQueue, "kai.display_name": queue.DisplayName}
	if queue.Priority != nil {
		out["kai.priority"] = strconv.FormatInt(*queue.Priority, 10)
	}
	for name, duration := range map[string]*time.Duration{
		"kai.preempt_min_runtime": queue.PreemptMinRuntime, "kai.reclaim_min_runtime": queue.ReclaimMinRuntime,
	} {
		if duration != nil {
			out[name] = manifest.FormatDuration(*duration)
		}
	}
	for name, share := range map[string]kai.Share{"gpu": queue.GPU, "cpu": queue.CPU, "memory": queue.Memory} {
		if weight := share.OverQuotaWeight; weight != nil {
			out["kai."+name+".over_quota_weight"] = strconv.FormatFloat(*weight, 'g', -1, 64)
		}
	}
	return out
}

// defaultSettings returns the values that Kueue's CRD and KAI set by default.
func defaultSettings() map[string]string {
	return map[string]string{
		"stop_policy": kueue.StopPolicies()[0], "queueing_strategy": kueue.QueueingStrategies()[0],
		"fair_share_weight": "1", "preemption.within_cluster_queue": kueue.Never,
		"preemption.reclaim_within_cohort": kueue.Never, "preemption.borrow_within_cohort": kueue.Never,
		"kai.priority": "100", "kai.gpu.over_quota_weight": "0", "kai.cpu.over_quota_weight": "0",
		"kai.memory.over_quota_weight": "0",
	}
}

// mostOf returns the maximum quantity that a queue can use. bounded is false if there is no limit.
func mostOf(quota kueue.Quota, cohort string) (most resource.Quantity, bounded bool) {
	most = quota.Nominal.DeepCopy()
	if cohort == "" {
		return most, true
	}
	if quota.BorrowingLimit == nil {
		return most, false
	}
	most.Add(*quota.BorrowingLimit)
	return most, true
}
