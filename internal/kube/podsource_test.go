package kube

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// Other workloads can have pods with the same labels.
func TestPodsOfASourceAreThoseOfItsWorkload(t *testing.T) {
	t.Parallel()
	by := func(of Kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: of.GroupVersion().String(), Kind: of.Kind, Name: name,
			UID: types.UID("uid of " + name), Controller: new(true)}
	}
	owners := map[string]metav1.OwnerReference{ // by the name of the pod
		"of-deployment": by(kind.ReplicaSet(), "trainer-1"), "of-other": by(kind.ReplicaSet(), "other-1"),
		"of-run": by(kind.Job(), "run"), "of-past-run": by(kind.Job(), "past"), "of-job": by(kind.Job(), "job"),
	}
	jobs := map[string]metav1.OwnerReference{
		"run": by(kind.CronJob(), "trainer"), "past": by(kind.CronJob(), "trainer"), "job": by(kind.CronJob(), "other"),
	}
	controlled := func(name string, owner metav1.OwnerReference) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ml", Name: name, UID: types.UID("uid of " + name),
			OwnerReferences: []metav1.OwnerReference{owner}}
	}
	workload := func(of Kind) *unstructured.Unstructured {
		obj := of.Named("ml", "trainer")
		obj.SetUID("uid of trainer")
		return obj
	}
	deployment, cronJob := workload(kind.Deployment()), workload(kind.CronJob())
	for name, test := range map[string]struct {
		source PodSource
		denied bool // permission to read Jobs
		want   string
		jobs   bool // they are read
	}{
		"without a workload": {PodSource{}, false, "of-deployment of-job of-other of-past-run of-run",
			false},
		"one pod":                          {PodSource{Pod: "of-run"}, false, "of-run", false},
		"of a Deployment":                  {PodSource{Workload: deployment}, false, "of-deployment", false},
		"of a CronJob":                     {PodSource{Workload: cronJob}, false, "of-past-run of-run", true},
		"one pod of a CronJob":             {PodSource{Workload: cronJob, Pod: "of-run"}, false, "of-run", true},
		"a pod of another one":             {PodSource{Workload: cronJob, Pod: "of-job"}, false, "", true},
		"a pod that is gone":               {PodSource{Workload: cronJob, Pod: "gone"}, false, "", false},
		"of a CronJob, without permission": {PodSource{Workload: cronJob}, true, "failed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				if strings.HasSuffix(path, "/selfsubjectaccessreviews") {
					return kubetest.Reviewed(request, func(string) bool { return false })
				}
				if verb == "watch" && !test.denied { // the Reflector lists then
					return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
				}
				asked.Store(true)
				if test.denied {
					return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
				}
				list := batchv1.JobList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
				for name, owner := range jobs {
					list.Items = append(list.Items, batchv1.Job{ObjectMeta: controlled(name, owner)})
				}
				return http.StatusOK, list
			}})
			var pods []*corev1.Pod
			for _, name := range slices.Sorted(maps.Keys(owners)) {
				pods = append(pods, &corev1.Pod{ObjectMeta: controlled(name, owners[name])})
			}
			test.source.Namespace = "ml"
			own, err := test.source.Own(t.Context(), cluster, pods)
			got := "failed"
			if err == nil {
				var names []string
				for _, pod := range own {
					names = append(names, pod.Name)
				}
				got = strings.Join(names, " ")
			}
			if got != test.want || asked.Load() != test.jobs {
				t.Errorf("%q, %v, want %q; Jobs are read: %t", got, err, test.want, asked.Load())
			}
		})
	}
}

// Otherwise, a compute would seem to have no pods.
func TestFailureToListPodsIsReported(t *testing.T) {
	t.Parallel()
	cluster := serving(t, nil)
	labels := map[string]string{"app": "trainer"}
	for name, list := range map[string]func() ([]*corev1.Pod, error){
		"PodsNow": func() ([]*corev1.Pod, error) { return PodsNow(t.Context(), cluster.API, "ml", labels) },
		"Pods":    func() ([]*corev1.Pod, error) { return Pods(t.Context(), cluster, "ml", labels) },
		"PodSource.Pods": func() ([]*corev1.Pod, error) {
			return PodSource{Namespace: "ml", Labels: labels}.Pods(t.Context(), cluster)
		},
	} {
		if pods, err := list(); ClassOf(err) != Denied {
			t.Errorf("%s: %d pods, %v", name, len(pods), err)
		}
	}
}
