// Command jobset runs the JobSet controllers and webhooks against a test
// cluster.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"

	"github.com/ktdev/terraform-provider-kt/ecosystem/manager"
)

func main() {
	os.Exit(manager.Main(manager.Program{
		Name:     "jobset",
		About:    "jobset runs the JobSet controllers and webhooks against a test cluster that has their CRD.",
		Kinds:    []schema.GroupKind{jobsetv1alpha2.GroupVersion.WithKind("JobSet").GroupKind()},
		Scheme:   jobsetv1alpha2.AddToScheme,
		Add:      add,
		Webhooks: manager.OwnPods(jobsetv1alpha2.JobSetNameKey),
	}))
}

func add(ctx context.Context, mgr ctrl.Manager) error {
	if err := controllers.SetupJobSetIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index of JobSets: %w", err)
	}
	if err := controllers.SetupPodIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("index of pods: %w", err)
	}
	jobSets := controllers.NewJobSetReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorder("jobset"))
	if err := jobSets.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("JobSet controller: %w", err)
	}
	pods := controllers.NewPodReconciler(mgr.GetClient(), mgr.GetScheme(), mgr.GetEventRecorder("pod"))
	if err := pods.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("pod controller: %w", err)
	}
	return webhooks.Setup(mgr)
}
