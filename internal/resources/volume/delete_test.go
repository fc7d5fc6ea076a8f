package volume

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

const boundClaim = `{apiVersion: v1, kind: PersistentVolumeClaim,
  metadata: {name: data, namespace: ml, uid: u-1, resourceVersion: "1"},
  spec: {accessModes: [ReadWriteOnce], storageClassName: standard, volumeName: pv-1,
    resources: {requests: {storage: 10Gi}}},
  status: {phase: Bound, capacity: {storage: 10Gi}}}`

func TestClaimIsDeletedOnlyIfRequestedOrNotBound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claim     string
		requested bool
		deleted   bool
		message   string
	}{
		"no claim":      {"", true, false, ""},
		"a bound claim": {boundClaim, true, true, ""},
		"a bound claim without a request": {boundClaim, false, false,
			"Replacement of a bound volume was not requested"},
		"a claim that is not bound": {
			strings.NewReplacer("volumeName: pv-1,", "", "Bound", "Pending").Replace(boundClaim), false, true, ""},
		"another claim in its place": {strings.Replace(boundClaim, "uid: u-1", "uid: u-2", 1), true, false,
			"PersistentVolumeClaim ml/data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := map[string]string{}
			if c.claim != "" {
				docs[claimsPath+"/data"] = c.claim
			}
			data, server := clusterOf(t, docs)
			diags := diag.Diagnostics{}
			hooks{}.Delete(t.Context(), &deleting{Data: data, State: boundVolume(), DestroyRequested: c.requested,
				Diags: &diags, Memory: owned.Memory{"PersistentVolumeClaim/ml/data": {UID: "u-1"}}})
			got := messages(diags)
			if (got == "") != (c.message == "") || !strings.Contains(got, c.message) {
				t.Errorf("diagnostics %q, want %q", got, c.message)
			}
			if deleted := len(server.deleted) > 0; deleted != c.deleted {
				t.Errorf("deleted %q", server.deleted)
			}
		})
	}
}
