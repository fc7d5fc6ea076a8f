package queue

import (
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// everythingOfKAI returns a queue of KAI with every attribute, some of them zero.
func everythingOfKAI() spec {
	priority, weight, preempt, reclaim := int64(0), 0.0, time.Duration(0), time.Hour
	return spec{
		Queue: kueue.Queue{Labels: map[string]string{"team": "vision"}},
		KAI: &kai.Queue{
			ParentQueue: "ml", DisplayName: "Vision", Priority: &priority, PreemptMinRuntime: &preempt,
			ReclaimMinRuntime: &reclaim,
			GPU: kai.Share{Quota: kai.Amount{Quantity: *amount("500m")}, Limit: kai.Amount{Quantity: *amount("0")},
				OverQuotaWeight: &weight},
			CPU: kai.Share{Quota: kai.Amount{Unlimited: true}, Limit: kai.Amount{Unlimited: true}},
			Memory: kai.Share{Quota: kai.Amount{Quantity: *amount("64Gi")},
				Limit: kai.Amount{Quantity: *amount("1T")}},
		},
	}
}

func TestSpecIsTheInverseOfFollowForKAI(t *testing.T) {
	t.Parallel()
	want := everythingOfKAI()
	m := nullModel(t)
	got := followed(t, m, want)
	want.Name, want.Namespace, want.KAI.Name, want.KAI.Labels = "vision", "ml", "vision", want.Labels
	if !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got\n%+v\n%+v\nwant\n%+v\n%+v", got, got.KAI, want, want.KAI)
	}
	objects, diags := render(got)
	if diags.HasError() || len(objects) != 1 {
		t.Fatalf("got %v, %v", objects, diags)
	}
	seen := observed(objects.Sorted(kueue.Rank))
	if diags := m.follow(t.Context(), seen, seen); diags.HasError() || m.KAI.IsNull() {
		t.Errorf("after a refresh: %v, %v", m.KAI, diags)
	}
}

// KAI treats an absent number as 0, and both are what a required attribute must be set to.
func TestImportOfAKAIQueueReadsEveryQuotaAndLimit(t *testing.T) {
	t.Parallel()
	for name, resources := range map[string]map[string]any{
		"quotas of zero": {"gpu": zeroQuota(), "cpu": zeroQuota(), "memory": zeroQuota()},
		"without a CPU":  {"gpu": map[string]any{"quota": int64(8), "limit": int64(0)}, "memory": zeroQuota()},
		"no resources":   nil,
	} {
		seen := observed([]*unstructured.Unstructured{{Object: map[string]any{"kind": "Queue",
			"spec": map[string]any{"resources": resources}}}})
		for _, ours := range []bool{true, false} {
			m := nullModel(t)
			m.adopt(t.Context(), seen, &reading{Data: &tf.ProviderData{}}, ours)
			for _, of := range []string{"gpu", "cpu", "memory"} {
				share, _ := m.KAI.Attributes()[of].(types.Object)
				for _, number := range []string{"quota", "limit"} {
					if got := share.Attributes()[number]; got == nil || got.IsNull() {
						t.Errorf("%s, ours: %t: kai.%s is %s", name, ours, of, share)
					}
				}
			}
		}
	}
}

// zeroQuota returns a resource of the default queues of KAI.
func zeroQuota() map[string]any {
	return map[string]any{"quota": int64(0), "limit": int64(-1), "overQuotaWeight": int64(1)}
}

// Only KAI is known to have no numbers of workloads.
func TestNumbersOfWorkloadsAreUnknownUntilTheSchedulerIsKnown(t *testing.T) {
	t.Parallel()
	kueueQueue, kaiQueue, unknown := nullModel(t), nullModel(t), nullModel(t)
	kaiQueue.follow(t.Context(), spec{}, everythingOfKAI())
	unknown.KAI = types.ObjectUnknown(unknown.KAI.AttributeTypes(t.Context()))
	for _, test := range []struct {
		m    *model
		null bool
	}{{kueueQueue, false}, {kaiQueue, true}, {unknown, false}} {
		got := test.m.unknownStatus()
		if got.PendingWorkloads.IsNull() != test.null || got.AdmittedWorkloads.IsNull() != test.null ||
			!got.Active.IsUnknown() || !got.Usage.IsUnknown() {
			t.Errorf("with kai = %s: %+v", test.m.KAI, got)
		}
	}
}

func TestStatusOfKAIContainsItsUsage(t *testing.T) {
	t.Parallel()
	m := nullModel(t)
	m.follow(t.Context(), spec{}, everythingOfKAI())
	m.setStatus(&unstructured.Unstructured{Object: map[string]any{
		"kind": "Queue", "metadata": map[string]any{"uid": "u-1"},
		"status": map[string]any{"allocated": map[string]any{"nvidia.com/gpu": "4"}},
	}})
	usage, _ := m.Usage.Elements()["allocated"].(types.Map)
	if got := tf.Texts(usage)["nvidia.com/gpu"]; got != "4" || !m.Active.ValueBool() ||
		!m.PendingWorkloads.IsNull() || !m.AdmittedWorkloads.IsNull() || len(m.Usage.Elements()) != 1 {
		t.Errorf("usage %s, status %+v", got, m.queueStatus)
	}
	m.setStatus(nil)
	if m.Active.IsNull() || m.Active.ValueBool() || len(m.Usage.Elements()) != 0 {
		t.Errorf("without a Queue: %+v", m.queueStatus)
	}
	if m.waits() {
		t.Error("the apply waits for a queue that is active once it exists")
	}
}

func TestTheParentQueueIsCheckedByTheProvider(t *testing.T) {
	t.Parallel()
	child := everythingOfKAI().KAI // with 0.5 GPUs, any number of CPUs and 64Gi
	parent := func(gpu, cpu, memory float64) *unstructured.Unstructured {
		quota := func(number float64) map[string]any { return map[string]any{"quota": number} }
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resources": map[string]any{
			"gpu": quota(gpu), "cpu": quota(cpu), "memory": quota(memory)}}}}
	}
	for name, test := range map[string]struct {
		parent *unstructured.Unstructured
		want   []string // the attributes with a warning
	}{
		"missing":           {nil, []string{"kai.parent_queue"}},
		"no limits":         {parent(-1, -1, -1), nil},
		"sufficient quotas": {parent(8, -1, 1e6), nil},
		"smaller quotas":    {parent(0, 64000, 1), []string{"kai.gpu.quota", "kai.cpu.quota", "kai.memory.quota"}},
	} {
		var got []string
		diags := parentWarnings(*child, test.parent)
		for _, d := range diags {
			if at, ok := d.(diag.DiagnosticWithPath); ok {
				got = append(got, at.Path().String())
			}
		}
		if !slices.Equal(got, test.want) || diags.HasError() {
			t.Errorf("%s: warnings at %v, want %v", name, got, test.want)
		}
	}
}
