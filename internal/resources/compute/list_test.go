package compute

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// Users suspend or delete what a query lists as idle.
func TestNoComputeIsIdleIfItsPodsCannotBeListed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(kubetest.API{Answer: func(verb, path string, _ *http.Request) (int, any) {
		items := []any{}
		switch {
		case verb != "list":
			return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound}
		case strings.HasSuffix(path, "/pods"):
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		case strings.HasSuffix(path, "/deployments"):
			items = append(items, map[string]any{
				"metadata": map[string]any{"name": "trainer", "namespace": "ml",
					"labels": map[string]any{"kubetorch.com/template": "deployment"}},
				"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
					"labels": map[string]any{"kubetorch.com/service": "trainer"}}}},
			})
		}
		return http.StatusOK, map[string]any{"items": items}
	}})
	t.Cleanup(server.Close)
	settings := config.Config{Host: server.URL, Token: "x", Env: config.Env{Getenv: func(string) string { return "" }}}
	cluster := kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
	yes, no := true, false
	for name, c := range map[string]struct {
		idle   *bool
		listed int
	}{
		"no filter": {nil, 1}, "idle": {&yes, 0}, "not idle": {&no, 0},
	} {
		var listed int
		var undecided bool
		s := search{Query: &lifecycle.Query{Cluster: cluster, Namespace: "ml"},
			filter: filter{Idle: types.BoolPointerValue(c.idle)}, seen: map[string]bool{},
			yield: func(_ lifecycle.Item, err error) bool {
				if err == nil {
					listed++
				}
				var problem *lifecycle.UndecidedError
				undecided = undecided || errors.As(err, &problem) && kube.ClassOf(err) == kube.Denied
				return true // as for every missing permission
			}}
		s.run(t.Context())
		if listed != c.listed || undecided != (c.idle != nil) {
			t.Errorf("%s: %d computes, undecided %t", name, listed, undecided)
		}
	}
}
