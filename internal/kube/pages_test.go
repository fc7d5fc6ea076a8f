package kube

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestPodsAreReadPageByPage(t *testing.T) {
	t.Parallel()
	var asked []string
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
		query := request.URL.Query()
		asked = append(asked, path+" "+query.Get("labelSelector")+" "+query.Get("continue"))
		name, next := "a", "b"
		if query.Get("continue") == "b" {
			name, next = "b", ""
		}
		return http.StatusOK, corev1.PodList{ListMeta: metav1.ListMeta{Continue: next},
			Items: []corev1.Pod{*kubetest.RunningPod(name)}}
	}})
	pods, err := PodsNow(t.Context(), cluster.API, "ml", map[string]string{"app": "trainer"})
	if err != nil || len(pods) != 2 || pods[0].Name != "a" || pods[1].Name != "b" {
		t.Errorf("%v, %v", pods, err)
	}
	const path = "/api/v1/namespaces/ml/pods app=trainer "
	if got, want := strings.Join(asked, ","), path+","+path+"b"; got != want {
		t.Errorf("requests %s, want %s", got, want)
	}
}

func TestPodsAreFoundInTheSharedListOfTheirLabels(t *testing.T) {
	t.Parallel()
	const job, service = "batch.kubernetes.io/job-name", "kubetorch.com/service"
	pod := func(name, value string) corev1.Pod {
		pod := kubetest.RunningPod(name)
		pod.Labels = map[string]string{service: value, job: value, "app": value}
		return *pod
	}
	all := []corev1.Pod{pod("b", "x"), pod("a", "x"), pod("other", "y")}
	for name, test := range map[string]struct {
		selector map[string]string
		denied   bool   // permission to watch
		list     string // label selector of the last list
	}{
		"of a service of Kubetorch":          {map[string]string{service: "x"}, false, service},
		"of a Job of a service of Kubetorch": {map[string]string{service: "x", job: "x"}, false, service},
		"of a Job":                           {map[string]string{job: "x", "app": "x"}, false, job + "=x"},
		"others":                             {map[string]string{"app": "x"}, false, ""},
		"without permission to watch":        {map[string]string{"app": "x"}, true, "app=x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list atomic.Value
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				switch {
				case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
					return kubetest.Reviewed(request, func(verb string) bool { return verb == "list" })
				case verb == "watch" && test.denied:
					return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
				case verb == "watch": // the Reflector lists then
					return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
				}
				list.Store(request.URL.Query().Get("labelSelector"))
				return http.StatusOK, corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: all}
			}})
			pods, err := Pods(t.Context(), cluster, "ml", test.selector)
			var names []string
			for _, pod := range pods {
				if pod.Labels["app"] == "x" || !test.denied { // otherwise, the server selects them
					names = append(names, pod.Name)
				}
			}
			if got := strings.Join(names, " "); err != nil || got != "a b" || list.Load() != test.list {
				t.Errorf("found %q, %v, in the list of %q; want that of %q", got, err, list.Load(), test.list)
			}
		})
	}
}

func TestFailuresToReadPages(t *testing.T) {
	t.Parallel()
	pods := Ref{Kind: kind.Pod(), Namespace: "ml"}
	for name, test := range map[string]struct {
		code  int
		body  any
		class Class
	}{
		"without permission": {http.StatusForbidden, metav1.Status{Reason: metav1.StatusReasonForbidden}, Denied},
		"another document":   {http.StatusOK, map[string]any{"items": "none"}, Other},
	} {
		cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
			return test.code, test.body
		}})
		taken := 0
		err := Each(t.Context(), cluster.API, pods, metav1.ListOptions{}, func(*corev1.Pod) { taken++ })
		failure, ok := errors.AsType[*Error](err)
		if !ok || failure.Class != test.class || failure.Op != "list" || taken > 0 {
			t.Errorf("%s: %d pods, %v", name, taken, err)
		}
	}
}

func TestItemsOfAnotherTypeAreAnError(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		other := map[string]any{"spec": map[string]any{"containers": "none"}}
		return http.StatusOK, map[string]any{"items": []any{other}}
	}})
	err := Each(t.Context(), cluster.API, Ref{Kind: kind.Pod(), Namespace: "ml"}, metav1.ListOptions{},
		func(*corev1.Pod) { t.Error("another object was taken as a Pod") })
	if err == nil || !strings.Contains(err.Error(), "cannot unmarshal string") {
		t.Errorf("%v", err)
	}
}
