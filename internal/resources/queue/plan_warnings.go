package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
)

// warn warns about what Kueue will do with the planned objects.
func (p *planner) warn(ctx context.Context) {
	p.warnOfMissing(ctx)
	if p.Creating {
		return
	}
	live, err := p.Data.Cluster.Read(ctx, p.Plan.clusterQueueRef())
	if err != nil {
		return // the dry run has reported the problem
	}
	status := ready.AssessClusterQueue(live)
	p.warnOfEviction(status)
	p.warnOfUsage(status)
}

// warnOfMissing warns about flavors and admission checks that do not exist, without which Kueue admits nothing.
func (p *planner) warnOfMissing(ctx context.Context) {
	missing := func(ref kube.Ref) bool {
		if p.Data.Cluster.PlansObject(manifest.Key(ref.Kind.Named("", ref.Name))) {
			return false // another queue of the same run creates it
		}
		_, err := p.Data.Cluster.Get(ctx, ref)
		return kube.IsNotFound(err)
	}
	const consequence = "The queue is inactive until %s exists: it admits no workloads.\n\nNext step: If this run " +
		"does not create it, create it or correct the name."
	for i, flavor := range p.wanted.Flavors {
		if ref := p.Plan.flavorRef(flavor.Name); flavor.Definition == nil && missing(ref) {
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

// warnOfEviction warns if the plan evicts the admitted workloads.
func (p *planner) warnOfEviction(status ready.ClusterQueueStatus) {
	if p.Plan.StopPolicy.Equal(p.State.StopPolicy) || p.wanted.StopPolicy != kueue.HoldAndDrain ||
		status.Reserving == 0 {
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
func (p *planner) warnOfUsage(status ready.ClusterQueueStatus) {
	before := map[string]map[string]kueue.Quota{}
	for _, flavor := range kueue.Observe(p.prior.Sorted(kueue.Rank)).Flavors {
		before[flavor.Name] = flavor.Quotas
	}
	for i, flavor := range p.wanted.Flavors {
		for _, name := range slices.Sorted(maps.Keys(flavor.Quotas)) {
			used, quota := status.Reserved[flavor.Name][name], flavor.Quotas[name]
			was, existed := before[flavor.Name][name]
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
