// Command lws runs the LeaderWorkerSet controllers and webhooks against a test
// cluster.
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	leaderworkersetv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/pkg/webhooks"

	"github.com/ktdev/terraform-provider-kt/ecosystem/manager"
)

func main() {
	os.Exit(manager.Main(manager.Program{
		Name:     "lws",
		About:    "lws runs the LeaderWorkerSet controllers and webhooks against a test cluster that has their CRD.",
		Kinds:    []schema.GroupKind{leaderworkersetv1.GroupVersion.WithKind("LeaderWorkerSet").GroupKind()},
		Scheme:   leaderworkersetv1.AddToScheme,
		Add:      add,
		Webhooks: manager.OwnPods(leaderworkersetv1.SetNameLabelKey),
	}))
}

// add registers the controllers without gang scheduling, which requires a separate scheduler.
func add(_ context.Context, mgr ctrl.Manager) error {
	if err := controllers.SetupIndexes(mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	events := mgr.GetEventRecorder("leaderworkerset")
	sets := controllers.NewLeaderWorkerSetReconciler(mgr.GetClient(), mgr.GetScheme(), events)
	if err := sets.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("LeaderWorkerSet controller: %w", err)
	}
	pods := controllers.NewPodReconciler(mgr.GetClient(), mgr.GetScheme(), events, nil)
	if err := pods.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("pod controller: %w", err)
	}
	if err := webhooks.SetupLeaderWorkerSetWebhook(mgr); err != nil {
		return fmt.Errorf("LeaderWorkerSet webhook: %w", err)
	}
	return webhooks.NewPodWebhook(nil).Setup(mgr)
}
