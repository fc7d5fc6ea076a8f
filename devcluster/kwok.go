package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	kwokversioned "sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	kwokclient "sigs.k8s.io/kwok/pkg/utils/client"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/nodespec"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/stages"
)

// podCIDR is the range of pod addresses of KWOK. It does not overlap with the range of Services.
const podCIDR = "10.64.0.0/12"

// startKWOK starts KWOK for the nodes with its annotation. It runs until the context is cancelled.
func startKWOK(ctx context.Context, kubeconfig string, kubeletPort int, logFile *os.File) error {
	local, err := stages.Load()
	if err != nil {
		return err
	}
	ctx = log.NewContext(ctx, log.NewLogger(logFile, log.LevelWarn))
	clients, err := kwokclient.NewClientset("", kubeconfig)
	if err != nil {
		return err
	}
	config, err := clients.ToRESTConfig()
	if err != nil {
		return err
	}
	dynamicClient, err := clients.ToDynamicClient()
	if err != nil {
		return err
	}
	mapper, err := clients.ToRESTMapper()
	if err != nil {
		return err
	}
	restClient, err := rest.RESTClientFor(config)
	if err != nil {
		return err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	kwokTyped, err := kwokversioned.NewForConfig(config)
	if err != nil {
		return err
	}
	controller, err := controllers.NewController(controllers.Config{
		Clock:                             clock.RealClock{},
		ID:                                "devcluster",
		DynamicClient:                     dynamicClient,
		RESTClient:                        restClient,
		RESTMapper:                        mapper,
		TypedClient:                       typed,
		TypedKwokClient:                   kwokTyped,
		ImpersonatingDynamicClient:        clients.ToImpersonatingDynamicClient(),
		ImpersonatingTypedClient:          clients.ToImpersonatingTypedClient(),
		ManageNodesWithAnnotationSelector: nodespec.ManagedAnnotation + "=fake",
		CIDR:                              podCIDR,
		NodeIP:                            nodeIP,
		NodePort:                          kubeletPort,
		LocalStages:                       local,
		PodPlayStageParallelism:           16,
		NodePlayStageParallelism:          4,
		NodeLeaseParallelism:              4,
		NodeLeaseDurationSeconds:          200,
		PodsOnNodeSyncParallelism:         4,
	})
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return fmt.Errorf("start KWOK: %w", err)
	}
	return nil
}
