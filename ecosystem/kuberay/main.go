// Command kuberay runs KubeRay's controllers of RayClusters and RayJobs against a test cluster.
//
// The pods of a test cluster run no containers, so a RayJob is submitted and never ends. RayService is not included:
// its controller waits for responses of a Ray head. KubeRay's webhooks are disabled, as in its default installation.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/ktdev/terraform-provider-kt/ecosystem/manager"
	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	os.Exit(manager.Main(manager.Program{
		Name:  "kuberay",
		About: "kuberay runs KubeRay's controllers of RayClusters and RayJobs against a cluster that has its CRDs.",
		Kinds: []schema.GroupKind{
			rayv1.GroupVersion.WithKind("RayCluster").GroupKind(), rayv1.GroupVersion.WithKind("RayJob").GroupKind(),
		},
		Scheme: rayv1.AddToScheme,
		Add:    add,
	}))
}

func add(ctx context.Context, mgr ctrl.Manager) error {
	// A manager without a batch scheduler, which the setup of the controller requires.
	scheduler, err := batchscheduler.NewSchedulerManager(ctx, configapi.Configuration{}, mgr.GetConfig(),
		mgr.GetClient())
	if err != nil {
		return fmt.Errorf("batch scheduler: %w", err)
	}
	options := ray.RayClusterReconcilerOptions{BatchSchedulerManager: scheduler}
	if err := ray.NewReconciler(ctx, mgr, options).SetupWithManager(mgr,
		configapi.DefaultReconcileConcurrency); err != nil {
		return fmt.Errorf("controller of RayClusters: %w", err)
	}
	jobs := ray.RayJobReconcilerOptions{BatchSchedulerManager: scheduler}
	return ray.NewRayJobReconciler(ctx, mgr, jobs, configapi.Configuration{}).SetupWithManager(mgr,
		configapi.DefaultReconcileConcurrency)
}
