package kube

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/kubetest"
)

// A Role for Deployments does not include the objects of an operator that somebody else installed.
func TestWorkloadIsFoundWithoutPermissionForTensorServers(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		switch {
		case path == "/apis/"+kind.SkyTorchGroup+"/v1alpha1":
			return http.StatusOK, metav1.APIResourceList{GroupVersion: kind.SkyTorchGroup + "/v1alpha1",
				APIResources: []metav1.APIResource{{Name: "computes", Kind: "Compute", Namespaced: true}}}
		case strings.HasPrefix(path, "/apis/"+kind.SkyTorchGroup+"/v1alpha1/"):
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		case path == "/apis/apps/v1/namespaces/ml/deployments/trainer":
			return http.StatusOK, object("apps/v1", "Deployment").Object
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	found, err := cluster.Locate(t.Context(), "ml", "trainer")
	if err != nil || found.GetKind() != "Deployment" {
		t.Errorf("found %v, %v", found, err)
	}
}
