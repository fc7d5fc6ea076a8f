package kube

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// workloads returns what a server responds about workloads with the name ml/trainer: the kinds, and the responses by
// kind.
func workloads(t *testing.T, responses map[*Kind]any) map[string]any {
	t.Helper()
	at := map[string]any{}
	for of, response := range responses {
		at["/apis/"+of.GroupVersion().String()] = serves(*of)
		at[kubetest.PathOf(t, of.Named("ml", "trainer"))] = response
	}
	return at
}

func TestWorkloadOfAComputeIsLocated(t *testing.T) {
	t.Parallel()
	sky, kpu := row(kind.SkyTorchGroup, "Compute"), row("compute.kpu.dev", "Compute")
	deployment, set, ray := kind.Deployment(), kind.StatefulSet(), row("ray.io", "RayCluster")
	is := func(of Kind) *unstructured.Unstructured { return of.Named("ml", "trainer") }
	made := func(of Kind) *unstructured.Unstructured {
		obj := is(of)
		obj.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Run", Name: "a", Controller: new(true)}})
		return obj
	}
	denied, fails := metav1.StatusReasonForbidden, metav1.StatusReasonInternalError
	for name, test := range map[string]struct {
		responses map[*Kind]any
		want      string // apiVersion/kind; "missing" or "failure" for an error
	}{
		"of an operator before others": {map[*Kind]any{&kpu: is(kpu), &deployment: is(deployment)},
			"compute.kpu.dev/v1alpha1/Compute"},
		"of Kubernetes before others": {map[*Kind]any{&ray: is(ray), &deployment: is(deployment)},
			"apps/v1/Deployment"},
		"of a custom kind": {map[*Kind]any{&ray: is(ray)}, "ray.io/v1/RayCluster"},
		// A Role for Deployments does not include the objects of an operator that somebody else installed.
		"without permission for an operator": {map[*Kind]any{&sky: denied, &deployment: is(deployment)},
			"apps/v1/Deployment"},
		"of Kubernetes before another operator": {
			map[*Kind]any{&sky: denied, &kpu: is(kpu), &deployment: is(deployment)}, "apps/v1/Deployment"},
		"of a custom kind before another operator": {map[*Kind]any{&sky: denied, &kpu: is(kpu), &ray: is(ray)},
			"ray.io/v1/RayCluster"},
		"of another operator": {map[*Kind]any{&sky: denied, &kpu: is(kpu)}, "compute.kpu.dev/v1alpha1/Compute"},
		"without permission for a kind": {map[*Kind]any{&deployment: denied, &set: is(set)},
			"apps/v1/StatefulSet"},
		"made by a controller": {map[*Kind]any{&set: made(set)}, "apps/v1/StatefulSet"},
		"the first one made by a controller": {map[*Kind]any{&deployment: made(deployment), &set: made(set)},
			"apps/v1/Deployment"},
		"not made by a controller": {map[*Kind]any{&deployment: made(deployment), &set: is(set)},
			"apps/v1/StatefulSet"},
		"none": {map[*Kind]any{&ray: nil, &sky: nil}, "missing"},
		"none that may be read": {map[*Kind]any{&deployment: denied, &set: denied},
			"missing, without deployments, statefulsets"},
		"failure of a read":                 {map[*Kind]any{&deployment: fails, &set: is(set)}, "failure"},
		"failure of a read for an operator": {map[*Kind]any{&sky: fails, &set: is(set)}, "failure"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := serving(t, workloads(t, test.responses)).Locate(t.Context(), "ml", "trainer")
			missing, failed := errors.AsType[*MissingComputeError](err)
			var got string
			switch {
			case failed && missing.Denied != "":
				_, cause := missing.Explain()
				if got = "missing, without " + missing.Denied; !strings.Contains(cause.Summary, missing.Denied+".") {
					t.Errorf("message %q", cause.Summary)
				}
			case failed && *missing == MissingComputeError{Namespace: "ml", Name: "trainer"}:
				got = "missing"
			case err != nil:
				got = "failure"
			default:
				got = found.GetAPIVersion() + "/" + found.GetKind()
			}
			if got != test.want {
				t.Errorf("found %s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestKindsThatAreNotInstalledAreNotRequested(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		if strings.Contains(path, "/namespaces/") && strings.Contains(path, ".") {
			t.Errorf("asked for %s", path)
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	if found, err := cluster.Locate(t.Context(), "ml", "trainer"); err == nil {
		t.Errorf("found %v", found)
	}
}

func TestFailedDiscoveryOfAnOperatorSkipsItsKinds(t *testing.T) {
	t.Parallel()
	jobs, ray := row("jobset.x-k8s.io", "JobSet"), row("ray.io", "RayCluster")
	at := workloads(t, map[*Kind]any{&jobs: jobs.Named("ml", "trainer"), &ray: nil})
	at["/apis/ray.io/v1"] = metav1.StatusReasonInternalError
	found, err := serving(t, at).Locate(t.Context(), "ml", "trainer")
	if err != nil || found.GetKind() != "JobSet" {
		t.Errorf("found %v, %v", found, err)
	}
	at["/apis/"+kind.SkyTorchGroup+"/v1alpha1"] = metav1.StatusReasonInternalError
	if found, err := serving(t, at).Locate(t.Context(), "ml", "trainer"); err == nil {
		t.Errorf("found %v, although the compute may be another one", found)
	}
}

func TestRuntimeOfAComputeIsThatOfItsOperator(t *testing.T) {
	t.Parallel()
	sky, kpu := row(kind.SkyTorchGroup, "Compute"), row("compute.kpu.dev", "Compute")
	for want, responses := range map[string]map[*Kind]any{
		"skytorch": {&sky: sky.Named("ml", "trainer")}, "kpu": {&sky: nil, &kpu: kpu.Named("ml", "trainer")},
		kind.RuntimeKubetorch: {&kpu: nil},
	} {
		runtime, compute, err := serving(t, workloads(t, responses)).TensorCompute(t.Context(), "ml", "trainer")
		if err != nil || runtime != want || (compute != nil) != (want != kind.RuntimeKubetorch) {
			t.Errorf("%s: runtime %s, %v, %v", want, runtime, compute, err)
		}
	}
}

func TestMissingComputeErrorNamesIt(t *testing.T) {
	t.Parallel()
	err := &MissingComputeError{Namespace: "ml", Name: "trainer"}
	summary, detail := explained(err)
	for _, words := range []string{"Compute ml/trainer does not exist", "Namespace ml contains",
		"the name trainer", "kubectl -n ml get"} {
		if !strings.Contains(summary+"\n"+detail, words) {
			t.Errorf("%q is not in\n%s\n%s", words, summary, detail)
		}
	}
	if got, want := err.Error(), "there is no compute trainer in namespace ml"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
