package queue

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

func TestOnlyTerminatingQuotasReplaceTheQueue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind      kube.Kind
		deleted   bool
		protected bool
		replaces  bool
		gone      bool // the apply creates only this object again
		warning   string
	}{
		"a LocalQueue":                   {kind: kind.LocalQueue(kind.KueueVersion)},
		"a LocalQueue that is deleted":   {kind: kind.LocalQueue(kind.KueueVersion), deleted: true, gone: true},
		"a ClusterQueue":                 {kind: kind.ClusterQueue(kind.KueueVersion)},
		"a ClusterQueue that is deleted": {kind: kind.ClusterQueue(kind.KueueVersion), deleted: true, replaces: true},
		"a Queue of KAI that is deleted": {kind: kind.KAIQueue(), deleted: true, replaces: true},
		"a protected LocalQueue that is deleted": {kind: kind.LocalQueue(kind.KueueVersion), deleted: true,
			protected: true, gone: true},
		"a protected ClusterQueue that is deleted": {kind: kind.ClusterQueue(kind.KueueVersion), deleted: true,
			protected: true, replaces: true, warning: "Set `deletion_protection` to false"},
		"a flavor that is deleted": {kind: kind.ResourceFlavor(kind.KueueVersion), deleted: true,
			warning: "replace all queues that use it"},
	} {
		live := c.kind.Named("ml", "vision")
		warning := c.warning
		if c.deleted {
			now := metav1.Unix(1, 0)
			live.SetDeletionTimestamp(&now)
			if warning == "" {
				warning = "An apply waits until it is deleted, and then creates it again."
			}
		}
		r := reader{&reading{State: &model{Common: lifecycle.Common{DeletionProtection: types.BoolValue(c.protected)}}}}
		err := r.checkTerminating(kube.Ref{Kind: c.kind, Namespace: "ml", Name: "vision"}, live)
		if gone := errors.Is(err, owned.ErrGone); gone != c.gone || err != nil && !gone {
			t.Errorf("%s: %v, gone should be %t", name, err, c.gone)
		}
		if r.Terminating != c.replaces {
			t.Errorf("%s: replaces the queue: %t, want %t", name, r.Terminating, c.replaces)
		}
		if len(r.Diags) > 1 || (len(r.Diags) == 0) != (warning == "") ||
			warning != "" && !strings.Contains(r.Diags[0].Detail(), warning) {
			t.Errorf("%s: %v, want a warning that contains %q", name, r.Diags, warning)
		}
	}
}

func TestImportFindsQuotasAndTheLocalQueuesOfItsName(t *testing.T) {
	t.Parallel()
	local := func(clusterQueue string) *unstructured.Unstructured {
		queue := kind.LocalQueue(kind.KueueVersion).Named("ml", "vision")
		kind.SetAt(queue.Object, []string{"spec", "clusterQueue"}, clusterQueue)
		return queue
	}
	for name, c := range map[string]struct {
		obj  *unstructured.Unstructured
		want bool
	}{
		"a ClusterQueue":                {kind.ClusterQueue(kind.KueueVersion).Named("", "vision"), true},
		"a Queue of KAI":                {kind.KAIQueue().Named("", "vision"), true},
		"its LocalQueue":                {local("vision"), true},
		"a LocalQueue of another queue": {local("speech"), false},
		"a ResourceFlavor":              {kind.ResourceFlavor(kind.KueueVersion).Named("", "vision"), false},
	} {
		if got := isImported(c.obj); got != c.want {
			t.Errorf("%s: imported %t, want %t", name, got, c.want)
		}
	}
}
