package owned

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

func TestDriftWarningNamesEachFieldItsManagerAndTheTime(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.FixedZone("", 3600))
	if diags := DriftWarning(ref, Refreshed{}); len(diags) > 0 {
		t.Errorf("without changes: %v", diags)
	}
	changes := []fields.Change{
		{Path: "a", Removed: true}, {Path: "b", Reordered: true}, {Path: "c", Added: true},
		{Path: "d", Added: true, Manager: somebody}, {Path: "e"}, {Path: "f", Manager: somebody, Time: at},
	}
	if diags := DriftWarning(ref, Refreshed{Changes: changes, InState: true}); len(diags) > 0 {
		t.Errorf("with changes that an earlier refresh wrote to the state: %v", diags)
	}
	diags := DriftWarning(ref, Refreshed{Changes: changes})
	want := `no longer have the applied values:
  - a: removed (Kubernetes does not record who removes a field)
  - b: reordered (Kubernetes does not record who moves list items)
  - c: added, in conflict with the applied field
  - d: added by kubectl
  - e: changed
  - f: changed by kubectl at 2026-05-04T02:02:01Z

An apply restores them, except for attributes in lifecycle.ignore_changes and for values that the configuration`
	if len(diags) != 1 || diags.HasError() || diags[0].Summary() != "Service ml/x was changed outside of Terraform" ||
		!strings.Contains(diags[0].Detail(), want) {
		t.Errorf("%v", diags)
	}
	diags = DriftWarning(ref, Refreshed{Changes: changes, Unrecorded: true})
	if len(diags) != 1 || diags.HasError() ||
		diags[0].Summary() != "Service ml/x was changed by another run of the provider" ||
		!strings.Contains(diags[0].Detail(), "killed before its results were written") ||
		!strings.Contains(diags[0].Detail(), want) {
		t.Errorf("by another run: %v", diags)
	}
}

func TestTerminatingObjectIsAWarningWithTheTime(t *testing.T) {
	t.Parallel()
	obj := live(kube.Manager)
	at := metav1.NewTime(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))
	obj.SetDeletionTimestamp(&at)
	for protected, want := range map[bool]string{
		false: "An apply waits until it is deleted", true: "Set `deletion_protection` to false",
	} {
		d := TerminatingWarning(kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}, obj, protected)
		if d.Severity() != diag.SeverityWarning || d.Summary() != "Service ml/x is being deleted" ||
			!strings.Contains(d.Detail(), "2026-05-04T03:02:01Z") || !strings.Contains(d.Detail(), want) {
			t.Errorf("protected %t: %v", protected, d)
		}
	}
}

func TestProtectedResourceNamesItsAttribute(t *testing.T) {
	t.Parallel()
	if diags := RefuseIfProtected(false, "thing", "ml/x"); len(diags) > 0 {
		t.Errorf("unprotected: %v", diags)
	}
	diags := RefuseIfProtected(true, "thing", "ml/x")
	if len(diags) != 1 || !diags.HasError() ||
		!strings.Contains(diags[0].Detail(), "ml/x has deletion_protection = true") {
		t.Fatalf("%v", diags)
	}
	at, ok := diags[0].(diag.DiagnosticWithPath)
	if !ok || at.Path().String() != "deletion_protection" {
		t.Errorf("%v", diags)
	}
}
