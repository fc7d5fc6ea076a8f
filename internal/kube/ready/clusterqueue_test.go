package ready_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

func TestClusterQueueIsReadyWhenKueueAdmitsItsWorkloads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live    string
		ready   bool
		message string
		hint    string
	}{
		"nothing reported": {`{}`, false, "has not processed", "controller of Kueue is running"},
		"active": {`{metadata: {generation: 2}, status: {conditions: [{type: Active, status: "True", reason: Ready,
		  observedGeneration: 2}]}}`, true, "is active", ""},
		"a missing flavor": {`{status: {conditions: [{type: Active, status: "False", reason: FlavorNotFound,
		  message: "references missing ResourceFlavor(s): h100"}]}}`, false,
			"admits no workloads (FlavorNotFound): references missing ResourceFlavor(s): h100", "Create the missing"},
		"stopped": {`{status: {conditions: [{type: Active, status: "False", reason: Stopped,
		  message: "ClusterQueue is stopped"}]}}`, false, "admits no workloads (Stopped)", "the stop policy to None"},
		"another cause": {`{status: {conditions: [{type: Active, status: "False", reason: Terminating}]}}`, false,
			"admits no workloads (Terminating)", "the cause that Kueue reports"},
		"active in an earlier generation": {`{metadata: {generation: 3}, status: {conditions: [{type: Active,
		  status: "True", observedGeneration: 2}]}}`, false, "has not processed", "controller of Kueue is running"},
		"fields of another type": {`{status: {pendingWorkloads: many}}`, false, "has not processed",
			"controller of Kueue is running"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict := ready.AssessClusterQueue(clusterQueueOf(t, test.live)).Verdict
			if verdict.Ready != test.ready || !strings.Contains(verdict.Message, test.message) ||
				(verdict.Cause == nil) != test.ready {
				t.Errorf("got %+v", verdict)
			}
			if c := verdict.Cause; c != nil && (!strings.Contains(c.Hint.In(), test.hint) ||
				!strings.Contains(c.Summary, test.message)) {
				t.Errorf("cause %+v, want %q and %q", c, test.message, test.hint)
			}
		})
	}
}

func TestClusterQueueReportsItsWorkloadsAndUsage(t *testing.T) {
	t.Parallel()
	got := ready.AssessClusterQueue(clusterQueueOf(t, `{status: {pendingWorkloads: 3, reservingWorkloads: 2,
	  admittedWorkloads: 1, flavorsReservation: [{name: h100, resources: [{name: nvidia.com/gpu, total: "12",
	  borrowed: "4"}]}]}}`))
	want := map[string]map[string]resource.Quantity{"h100": {"nvidia.com/gpu": resource.MustParse("12")}}
	if got.Pending != 3 || got.Reserving != 2 || got.Admitted != 1 ||
		!equality.Semantic.DeepEqual(got.Reserved, want) {
		t.Errorf("got %+v", got)
	}
	if none := ready.AssessClusterQueue(nil); none.Verdict.Ready || none.Reserved == nil {
		t.Errorf("without a ClusterQueue: %+v", none)
	}
}

func clusterQueueOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
