package queue

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	quantities "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// nullModel returns a model in which every attribute is null, but has its type.
func nullModel(t *testing.T) *model {
	t.Helper()
	var described resource.SchemaResponse
	New().Schema(t.Context(), resource.SchemaRequest{}, &described)
	object, ok := described.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the schema is not an object")
	}
	nulls := map[string]tftypes.Value{}
	for name, attribute := range object.AttributeTypes {
		nulls[name] = tftypes.NewValue(attribute, nil)
	}
	var m model
	state := tfsdk.State{Schema: described.Schema, Raw: tftypes.NewValue(object, nulls)}
	if diags := state.Get(t.Context(), &m); diags.HasError() {
		t.Fatal(diags)
	}
	m.Name, m.Namespace = types.StringValue("vision"), types.StringValue("ml")
	return &m
}

func amount(text string) *quantities.Quantity {
	q := quantities.MustParse(text)
	return &q
}

// everything returns a queue with every attribute that follow sets, some of them zero.
func everything() spec {
	seconds, threshold := int64(0), int32(0)
	return ofKueue(kueue.Queue{
		Cohort: "research", FairShareWeight: amount("0"), AdmissionChecks: []string{"budget"},
		QueueingStrategy: "StrictFIFO", StopPolicy: "Hold",
		Preemption: &kueue.Preemption{WithinClusterQueue: "LowerPriority", ReclaimWithinCohort: "Any",
			BorrowWithinCohort: "LowerPriority", MaxPriorityThreshold: &threshold},
		Flavors: []kueue.Flavor{
			{Name: "spot", NodeLabels: &map[string]string{"a": ""}, TopologyName: "racks",
				NodeTaints: []corev1.Taint{{Key: "spot", Effect: "NoSchedule"}},
				Tolerations: []corev1.Toleration{{Key: "spot", Operator: "Exists", Effect: "NoExecute",
					TolerationSeconds: &seconds}},
				Quotas: map[string]kueue.Quota{"cpu": {Nominal: *amount("0"), BorrowingLimit: amount("0"),
					LendingLimit: amount("0")}}},
			{Name: "all-nodes", NodeLabels: &map[string]string{},
				Quotas: map[string]kueue.Quota{"cpu": {Nominal: *amount("500m")}}},
			{Name: "existing", Quotas: map[string]kueue.Quota{"memory": {Nominal: *amount("1Gi")}}},
		},
		Labels: map[string]string{"team": "vision"}, Annotations: map[string]string{"owner": ""},
	})
}

func ofKueue(queue kueue.Queue) spec { return spec{Queue: queue} }

// followed sets the attributes of a model to those of a queue, and returns the spec of the model.
func followed(t *testing.T, m *model, queue spec) spec {
	t.Helper()
	if diags := m.follow(t.Context(), spec{}, queue); diags.HasError() {
		t.Fatal(diags)
	}
	got, diags := m.spec(t.Context(), tf.Defaults{})
	if diags.HasError() {
		t.Fatal(diags)
	}
	return got
}

func TestSpecIsTheInverseOfFollow(t *testing.T) {
	t.Parallel()
	want := everything()
	got := followed(t, nullModel(t), want)
	want.Name, want.Namespace = "vision", "ml"
	if !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// A refresh must not rewrite 1000m as 1.
func TestUnchangedFieldsKeepTheNotationOfTheirAttributes(t *testing.T) {
	t.Parallel()
	m := nullModel(t)
	before := everything()
	m.follow(t.Context(), spec{}, before)
	m.FairShareWeight = tf.QuantityOf("0.0")
	after := everything()
	after.Cohort, after.Preemption, after.AdmissionChecks = "", nil, nil
	if diags := m.follow(t.Context(), before, after); diags.HasError() {
		t.Fatal(diags)
	}
	if m.FairShareWeight.ValueString() != "0.0" {
		t.Errorf("fair_share_weight is %s", m.FairShareWeight)
	}
	if !m.Cohort.IsNull() || !m.Preemption.IsNull() || !m.AdmissionChecks.IsNull() {
		t.Errorf("removed fields are %s, %s and %s", m.Cohort, m.Preemption, m.AdmissionChecks)
	}
}

func TestFlavorIsCreatedIfItsNodesAreDescribed(t *testing.T) {
	t.Parallel()
	objects, diags := render(followed(t, nullModel(t), everything()))
	if diags.HasError() {
		t.Fatal(diags)
	}
	var keys []string
	for _, obj := range objects.Sorted(kueue.Rank) {
		keys = append(keys, manifest.Key(obj))
	}
	want := []string{"LocalQueue/ml/vision", "ResourceFlavor//all-nodes", "ResourceFlavor//spot",
		"ClusterQueue//vision"}
	if !slices.Equal(keys, want) {
		t.Errorf("the objects are %v, want %v", keys, want)
	}
	for i, obj := range objects.Sorted(deletionRank) {
		if first := hasQuotas(obj); first != (i == 0) {
			t.Errorf("%s is deleted at position %d", obj.GetKind(), i)
		}
	}
}

func TestApplyWaitsForAQueueThatShouldAdmit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait   types.Bool
		policy types.String
		want   bool
	}{
		"default":                      {types.BoolNull(), types.StringNull(), true},
		"explicitly admitting":         {types.BoolNull(), types.StringValue("None"), true},
		"stopped":                      {types.BoolNull(), types.StringValue("Hold"), false},
		"stopped with wait_for_active": {types.BoolValue(true), types.StringValue("Hold"), true},
		"not wanted":                   {types.BoolValue(false), types.StringNull(), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{WaitForActive: test.wait, StopPolicy: test.policy}
			if got := m.waits(); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestStatusContainsTheUsageOfEachFlavor(t *testing.T) {
	t.Parallel()
	m := nullModel(t)
	m.setStatus(&unstructured.Unstructured{Object: map[string]any{
		"kind": "ClusterQueue", "metadata": map[string]any{"uid": "u-1"},
		"status": map[string]any{"pendingWorkloads": int64(2), "flavorsReservation": []any{map[string]any{
			"name": "h100", "resources": []any{map[string]any{"name": "nvidia.com/gpu", "total": "4"}}}}},
	}})
	usage, _ := m.Usage.Elements()["h100"].(types.Map)
	if got := tf.Texts(usage)["nvidia.com/gpu"]; got != "4" || m.PendingWorkloads.ValueInt64() != 2 ||
		m.UID.ValueString() != "u-1" || m.Active.ValueBool() {
		t.Errorf("usage %s, status %+v", got, m.queueStatus)
	}
	m.setStatus(nil)
	if !m.UID.IsNull() || m.Active.IsNull() || len(m.Usage.Elements()) > 0 {
		t.Errorf("without a ClusterQueue: uid %s, %+v", m.UID, m.queueStatus)
	}
}

func TestPlanWarnsOfAQuotaBelowTheUsage(t *testing.T) {
	t.Parallel()
	status := ready.ClusterQueueStatus{Reserved: map[string]map[string]quantities.Quantity{
		"h100": {"nvidia.com/gpu": *amount("6")}}}
	for name, test := range map[string]struct {
		cohort, nominal string
		borrowing       *quantities.Quantity
		warns           bool
	}{
		"enough":                         {"", "6", nil, false},
		"less":                           {"", "5", nil, true},
		"unlimited borrowing":            {"all", "0", nil, false},
		"enough with borrowing":          {"all", "4", amount("2"), false},
		"less, although it borrows some": {"all", "4", amount("1"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &planner{planning: &planning{}, wanted: ofKueue(kueue.Queue{Cohort: test.cohort,
				Flavors: []kueue.Flavor{{Name: "h100", Quotas: map[string]kueue.Quota{"nvidia.com/gpu": {
					Nominal: *amount(test.nominal), BorrowingLimit: test.borrowing}}}}})}
			p.warnOfUsage(kueue.Queue{}, status)
			if got := len(p.Diags) == 1; got != test.warns {
				t.Errorf("got %v", p.Diags)
			}
			if test.warns && !strings.Contains(p.Diags[0].Detail(), "6 of nvidia.com/gpu in flavor h100 is in use") {
				t.Errorf("got %s", p.Diags[0].Detail())
			}
		})
	}
}

// Without the rest of the quota, other queues of the cohort may evict the workloads that use it.
func TestPlanWarnsOfAReducedQuotaThatIsInUse(t *testing.T) {
	t.Parallel()
	queueWith := func(nominal string) kueue.Queue {
		return kueue.Queue{Name: "vision", Namespace: "ml", Cohort: "all", Flavors: []kueue.Flavor{{Name: "h100",
			Quotas: map[string]kueue.Quota{"nvidia.com/gpu": {Nominal: *amount(nominal)}}}}}
	}
	status := ready.ClusterQueueStatus{Reserved: map[string]map[string]quantities.Quantity{
		"h100": {"nvidia.com/gpu": *amount("6")}}}
	for nominal, warns := range map[string]bool{"5": true, "6": false, "8": false} {
		p := &planner{planning: &planning{}, wanted: ofKueue(queueWith(nominal))}
		p.warnOfUsage(queueWith("8"), status)
		if got := len(p.Diags) == 1 && strings.Contains(p.Diags[0].Detail(), "counts as borrowed"); got != warns {
			t.Errorf("nominal %s: got %v", nominal, p.Diags)
		}
	}
}

func TestPlanWarnsOfARemovedQuotaThatIsInUse(t *testing.T) {
	t.Parallel()
	quota := map[string]kueue.Quota{"nvidia.com/gpu": {Nominal: *amount("8")}}
	before := kueue.Queue{Flavors: []kueue.Flavor{{Name: "h100", Quotas: quota}, {Name: "a100", Quotas: quota}}}
	p := &planner{planning: &planning{}, wanted: ofKueue(kueue.Queue{Flavors: []kueue.Flavor{{Name: "l4",
		Quotas: quota}}})}
	p.warnOfRemoval(before, ready.ClusterQueueStatus{Reserved: map[string]map[string]quantities.Quantity{
		"h100": {"nvidia.com/gpu": *amount("6")}, "a100": {"nvidia.com/gpu": *amount("0")}}})
	if len(p.Diags) != 1 || !strings.Contains(p.Diags[0].Detail(), "6 of nvidia.com/gpu in flavor h100 is in use") {
		t.Errorf("got %v", p.Diags)
	}
}

// An apply does not remove fields of other clients, so a plan must not show that it does.
func TestImportOfAnotherClientsQueueReadsOnlyWhatEveryConfigurationSets(t *testing.T) {
	t.Parallel()
	noLimits := everything()
	noLimits.Flavors = noLimits.Flavors[1:]
	for name, c := range map[string]struct {
		seen   spec
		cohort string
	}{
		"Kueue": {noLimits, ""}, "KAI": {everythingOfKAI(), ""}, "limits of a cohort": {everything(), "research"},
	} {
		seen := c.seen
		m := nullModel(t)
		m.adopt(t.Context(), seen, &reading{Data: &tf.ProviderData{}}, false)
		got, diags := m.spec(t.Context(), tf.Defaults{})
		if diags.HasError() {
			t.Fatal(diags)
		}
		for attribute, value := range settings(got) {
			if value != "" && attribute != "cohort" {
				t.Errorf("%s: %s is %s", name, attribute, value)
			}
		}
		if got.Cohort != c.cohort {
			t.Errorf("%s: the cohort is %q, want %q", name, got.Cohort, c.cohort)
		}
		if q := got.KAI; q != nil && (!q.CPU.Quota.Unlimited || q.GPU.Quota.Quantity.Cmp(*amount("500m")) != 0 ||
			q.Memory.Limit.Quantity.Cmp(*amount("1T")) != 0) || q == nil && len(got.Flavors) != len(seen.Flavors) {
			t.Errorf("%s: the quotas are %+v, %+v", name, q, got.Flavors)
		}
	}
}

func TestPlanWarnsOfSettingsThatAnAdoptedQueueKeeps(t *testing.T) {
	t.Parallel()
	before := ofKueue(kueue.Queue{Cohort: "research", StopPolicy: "None", QueueingStrategy: "BestEffortFIFO",
		FairShareWeight: amount("2"), AdmissionChecks: []string{"capacity"},
		Preemption: &kueue.Preemption{WithinClusterQueue: kueue.Never, ReclaimWithinCohort: "Any"}})
	priority, none, weight, hour := int64(100), 0.0, 0.5, time.Hour
	ofKAI := spec{KAI: &kai.Queue{ParentQueue: "ml", DisplayName: "Vision", Priority: &priority,
		ReclaimMinRuntime: &hour, GPU: kai.Share{OverQuotaWeight: &weight}, CPU: kai.Share{OverQuotaWeight: &none}}}
	for name, test := range map[string]struct {
		before, wanted spec
		warned         []string
	}{
		"nothing is set": {before: before, warned: []string{"admission_checks", "cohort", "fair_share_weight",
			"preemption.reclaim_within_cohort"}},
		"all are set": {before: before, wanted: before},
		"others are set": {before: before, warned: []string{"admission_checks"},
			wanted: ofKueue(kueue.Queue{Cohort: "other", FairShareWeight: amount("1"),
				Preemption: &kueue.Preemption{ReclaimWithinCohort: kueue.Never}})},
		"nothing is set for KAI": {before: ofKAI, wanted: spec{KAI: &kai.Queue{}}, warned: []string{
			"kai.display_name", "kai.gpu.over_quota_weight", "kai.parent_queue", "kai.reclaim_min_runtime"}},
		"all are set for KAI": {before: ofKAI, wanted: ofKAI},
		"others are set for KAI": {before: ofKAI, warned: []string{"kai.display_name", "kai.reclaim_min_runtime"},
			wanted: spec{KAI: &kai.Queue{ParentQueue: "nlp", GPU: kai.Share{OverQuotaWeight: &none}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &planner{planning: &planning{}, wanted: test.wanted}
			p.warnOfRetained(test.before)
			var warned []string
			for _, d := range p.Diags {
				warned = append(warned, strings.Fields(d.Detail())[0])
			}
			if !slices.Equal(warned, test.warned) {
				t.Errorf("warned about %v, want %v", warned, test.warned)
			}
		})
	}
}

func TestFlavorThatIsStillNamedIsReleased(t *testing.T) {
	t.Parallel()
	wanted := kueue.Queue{Flavors: []kueue.Flavor{{Name: "h100"}}}
	for name, want := range map[string]bool{"h100": true, "a100": false} {
		if got := namesFlavor(wanted, name); got != want {
			t.Errorf("ResourceFlavor %s is released: %t", name, got)
		}
	}
	local := &unstructured.Unstructured{Object: map[string]any{"kind": "LocalQueue",
		"metadata": map[string]any{"name": "h100"}}}
	if released, err := (releaser{wanted: wanted}).release(t.Context(), local); released || err != nil {
		t.Errorf("LocalQueue h100 is released: %t, %v", released, err)
	}
}
