package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/elasticjobs"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	"sigs.k8s.io/kueue/pkg/controller/tas"
	tasindexer "sigs.k8s.io/kueue/pkg/controller/tas/indexer"
	"sigs.k8s.io/kueue/pkg/metrics"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/kubeversion"
	"sigs.k8s.io/kueue/pkg/webhooks"
)

// add registers the same controllers and webhooks as Kueue's cmd/kueue with the
// default configuration and features, except for the features that configure
// disables.
func add(ctx context.Context, mgr ctrl.Manager, settings *configapi.Configuration) error {
	formatter := resources.NewResourceFormatter()
	preemptions := preemptexpectations.New()
	queueMetrics := metrics.NewLocalQueueMetricsConfig(settings.Metrics.LocalQueueMetrics)

	admitted := schdcache.New(mgr.GetClient(),
		schdcache.WithLocalQueueMetrics(queueMetrics),
		schdcache.WithResourceFormatter(formatter))
	requeuer := qcache.NewRequeuer()
	pending := qcache.NewManager(mgr.GetClient(), admitted, requeuer,
		qcache.WithLocalQueueMetrics(queueMetrics),
		qcache.WithResourceFormatter(formatter),
		qcache.WithPreemptionExpectations(preemptions))

	if err := addIndexes(ctx, mgr, settings); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	options := core.SetupControllersOpts{PreemptionExpectations: preemptions, ResourceFormatter: formatter}
	if name, err := core.SetupControllers(mgr, pending, admitted, settings, options); err != nil {
		return fmt.Errorf("%s controller: %w", name, err)
	}
	if name, err := tas.SetupControllers(mgr, pending, admitted, settings, nil); err != nil {
		return fmt.Errorf("%s controller: %w", name, err)
	}
	if name, err := elasticjobs.SetupWithManager(mgr, settings, nil); err != nil {
		return fmt.Errorf("%s controller: %w", name, err)
	}
	if err := addIntegrations(ctx, mgr, admitted, pending, settings); err != nil {
		return fmt.Errorf("integrations: %w", err)
	}
	if name, err := webhooks.Setup(mgr, nil); err != nil {
		return fmt.Errorf("%s webhook: %w", name, err)
	}
	if err := mgr.Add(requeuer); err != nil {
		return err
	}
	go pending.CleanUpOnContext(ctx)
	go admitted.CleanUpOnContext(ctx)
	return mgr.Add(scheduler.New(pending, admitted, mgr.GetClient(), mgr.GetEventRecorder(constants.AdmissionName),
		scheduler.WithPreemptionExpectations(preemptions),
		scheduler.WithResourceFormatter(formatter)))
}

func addIndexes(ctx context.Context, mgr ctrl.Manager, settings *configapi.Configuration) error {
	if err := indexer.Setup(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	if err := tasindexer.SetupIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return jobframework.SetupIndexes(ctx, mgr.GetFieldIndexer(),
		jobframework.WithEnabledFrameworks(settings.Integrations.Frameworks))
}

// addIntegrations registers the controllers and webhooks of the workload kinds.
func addIntegrations(
	ctx context.Context, mgr ctrl.Manager, admitted *schdcache.Cache, pending *qcache.Manager,
	settings *configapi.Configuration,
) error {
	client, err := discovery.NewDiscoveryClientForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	version := kubeversion.NewServerVersionFetcher(client)
	if err := version.FetchServerVersion(); err != nil {
		return fmt.Errorf("version of the API server: %w", err)
	}
	namespaces, err := metav1.LabelSelectorAsSelector(settings.ManagedJobsNamespaceSelector)
	if err != nil {
		return err
	}
	return jobframework.SetupControllers(ctx, mgr, mgr.GetLogger(),
		jobframework.WithEnabledFrameworks(settings.Integrations.Frameworks),
		jobframework.WithManagedJobsNamespaceSelector(namespaces),
		jobframework.WithManageJobsWithoutQueueName(settings.ManageJobsWithoutQueueName),
		jobframework.WithManagerName(constants.KueueName),
		jobframework.WithKubeServerVersion(version),
		jobframework.WithWaitForPodsReady(settings.WaitForPodsReady),
		jobframework.WithCache(admitted),
		jobframework.WithQueues(pending))
}
