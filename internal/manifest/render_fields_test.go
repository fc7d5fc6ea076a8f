package manifest_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestRenderedObjectsHaveOnlyFieldsOfTheAPI(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, autoscalingv2.AddToScheme,
		batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range allGoldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range render(t, c) {
				typed, err := scheme.New(o.GroupVersionKind())
				if err != nil {
					// Only the groups of CRDs have names with a dot, except for networking.k8s.io and its like.
					group := o.GroupVersionKind().Group
					if group != "gateway.networking.k8s.io" &&
						(!strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")) {
						t.Errorf("%s: %v", manifest.Key(o), err)
					}
					continue
				}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed,
					true); err != nil {
					t.Errorf("%s: %v", manifest.Key(o), err)
				}
			}
		})
	}
}
