package kueue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
)

func TestValidateReportsEachProblemAtItsAttribute(t *testing.T) {
	t.Parallel()
	flavor := func(f kueue.Flavor) func(*kueue.Queue) {
		return func(q *kueue.Queue) { q.Flavors = append(q.Flavors, f) }
	}
	tolerates := func(t corev1.Toleration) func(*kueue.Queue) {
		return func(q *kueue.Queue) {
			q.Flavors[0].Tolerations = []corev1.Toleration{t}
		}
	}
	limits := func(cohort string, quota kueue.Quota) func(*kueue.Queue) {
		return func(q *kueue.Queue) {
			q.Cohort, q.Flavors[0].Quotas = cohort, map[string]kueue.Quota{"nvidia.com/gpu": quota}
		}
	}
	preempts := func(p kueue.Preemption) func(*kueue.Queue) { return func(q *kueue.Queue) { q.Preemption = &p } }
	seconds, threshold := int64(30), int32(0)
	const gpuQuota = `flavors[0].quotas["nvidia.com/gpu"].`
	for name, test := range map[string]struct {
		change func(*kueue.Queue)
		want   []string // paths, each followed by a part of the detail
	}{
		"valid": {func(*kueue.Queue) {}, nil},
		"a flavor that is listed twice": {flavor(kueue.Flavor{Name: "h100", Quotas: gpus("1")}),
			[]string{"flavors[1].name", "also the name of flavors[0]"}},
		"flavors whose names are unknown": {func(q *kueue.Queue) {
			q.Flavors = []kueue.Flavor{{Quotas: gpus("1")}, {Quotas: gpus("1")}}
		}, nil},
		"flavors with other resources": {flavor(kueue.Flavor{Name: "cpu",
			Quotas: map[string]kueue.Quota{"cpu": {Nominal: *quantity("8")}}}), nil},
		"flavors with some common resources": {flavor(kueue.Flavor{Name: "a100", Quotas: map[string]kueue.Quota{
			"cpu": {Nominal: *quantity("8")}, "nvidia.com/gpu": {Nominal: *quantity("8")}}}),
			[]string{"flavors[1].quotas", "are for cpu, nvidia.com/gpu, and those of flavors[0] for nvidia.com/gpu"}},
		"limits without a cohort": {
			limits("", kueue.Quota{Nominal: *quantity("8"), BorrowingLimit: quantity("0"),
				LendingLimit: quantity("0")}),
			[]string{gpuQuota + "borrowing_limit", "Set cohort", gpuQuota + "lending_limit", "Set cohort"}},
		"limits in a cohort": {
			limits("all", kueue.Quota{Nominal: *quantity("8"), BorrowingLimit: quantity("9"),
				LendingLimit: quantity("8")}),
			nil},
		"a lending limit above the quota": {
			limits("all", kueue.Quota{Nominal: *quantity("8"), LendingLimit: quantity("9")}),
			[]string{gpuQuota + "lending_limit", "is 9, which exceeds nominal (8)"}},
		"quotas that are no numbers of devices": {
			limits("all", kueue.Quota{Nominal: *quantity("4Gi"), BorrowingLimit: quantity("1.5"),
				LendingLimit: quantity("1Ki")}),
			[]string{gpuQuota + "nominal", "is 4Gi, but extended resources can only be requested as integers: set a " +
				"number of devices without a unit", gpuQuota + "borrowing_limit", "is 1500m, but",
				gpuQuota + "lending_limit", "is 1Ki, but"}},
		"quotas that are not of devices": {func(q *kueue.Queue) {
			q.Flavors[0].Quotas = map[string]kueue.Quota{"cpu": {Nominal: *quantity("1.5")},
				"memory": {Nominal: *quantity("4Gi")}, "hugepages-2Mi": {Nominal: *quantity("1Gi")}}
		}, nil},
		"preemption while borrowing without reclaiming": {
			preempts(kueue.Preemption{BorrowWithinCohort: "LowerPriority"}),
			[]string{"preemption.borrow_within_cohort", "requires reclaim_within_cohort"}},
		"preemption while borrowing with Never": {
			preempts(kueue.Preemption{BorrowWithinCohort: "LowerPriority", ReclaimWithinCohort: "Never"}),
			[]string{"preemption.borrow_within_cohort", "requires reclaim_within_cohort"}},
		"no preemption while borrowing": {preempts(kueue.Preemption{BorrowWithinCohort: "Never"}), nil},
		"a threshold without borrow_within_cohort": {preempts(kueue.Preemption{MaxPriorityThreshold: &threshold}),
			[]string{"preemption.max_priority_threshold", "Set borrow_within_cohort, or remove"}},
		"a toleration of everything": {tolerates(corev1.Toleration{Operator: "Exists"}), nil},
		"a toleration without a key": {tolerates(corev1.Toleration{Value: "x"}),
			[]string{"flavors[0].tolerations[0].key", "has no key"}},
		"a toleration with Exists and a value": {
			tolerates(corev1.Toleration{Key: "spot", Operator: "Exists", Value: "x"}),
			[]string{"flavors[0].tolerations[0].value", "remove value"}},
		"toleration_seconds with NoSchedule": {
			tolerates(corev1.Toleration{Key: "spot", Effect: "NoSchedule", TolerationSeconds: &seconds}),
			[]string{"flavors[0].tolerations[0].toleration_seconds", "requires the effect"}},
		"a topology without node labels": {func(q *kueue.Queue) {
			q.Flavors[0].TopologyName = "racks"
		}, []string{"flavors[0].topology_name", "requires node_labels"}},
		"the provider's label": {func(q *kueue.Queue) {
			q.Labels = map[string]string{"app.kubernetes.io/managed-by": "helm"}
		}, []string{"labels", "the provider finds its objects with it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := team()
			test.change(&q)
			found := kueue.Validate(q)
			if len(found) != len(test.want)/2 {
				t.Fatalf("got %v, want %d problems", found, len(test.want)/2)
			}
			for i, problem := range found {
				path, detail := test.want[2*i], test.want[2*i+1]
				if problem.Path.String() != path || !strings.Contains(problem.Detail, detail) {
					t.Errorf("got %s: %s\nwant %s: …%s…", problem.Path, problem.Detail, path, detail)
				}
			}
			if _, err := kueue.Render(q); (err != nil) != (len(found) > 0) {
				t.Errorf("Render returns %v", err)
			} else if problems, ok := errors.AsType[manifest.Errors](err); err != nil && !ok {
				t.Errorf("Render returns %T: %v", err, problems)
			}
		})
	}
}

// TestValidateDependsOnBothAttributesOfAConflict: the resource ignores problems that depend on an unknown attribute.
func TestValidateDependsOnBothAttributesOfAConflict(t *testing.T) {
	t.Parallel()
	q := team(func(q *kueue.Queue) {
		q.Flavors[0].Quotas = map[string]kueue.Quota{"cpu": {BorrowingLimit: quantity("1")}}
		q.Preemption = &kueue.Preemption{BorrowWithinCohort: "LowerPriority"}
	})
	var concerns []string
	for _, problem := range kueue.Validate(q) {
		for _, path := range problem.Concerns {
			concerns = append(concerns, path.String())
		}
	}
	if want := []string{"cohort", "preemption.reclaim_within_cohort"}; !slices.Equal(concerns, want) {
		t.Errorf("the problems concern %v, want %v", concerns, want)
	}
}
