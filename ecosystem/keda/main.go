// Command keda runs KEDA's controllers of ScaledObjects and of their authentication against a test cluster, with its
// scalers. It also serves the external metrics of the HorizontalPodAutoscalers that KEDA creates.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	kedacontrollers "github.com/kedacore/keda/v2/controllers/keda"
	"github.com/kedacore/keda/v2/pkg/eventemitter"
	"github.com/kedacore/keda/v2/pkg/k8s"
	"github.com/kedacore/keda/v2/pkg/scalers/authentication"
	"github.com/kedacore/keda/v2/pkg/scaling"
	kedautil "github.com/kedacore/keda/v2/pkg/util"
	"github.com/ktdev/terraform-provider-kt/ecosystem/manager"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// namespace is where KEDA is usually installed. Its Secrets are those of ClusterTriggerAuthentications.
const namespace = "keda"

func main() {
	var kinds []schema.GroupKind
	for _, name := range []string{"ScaledObject", "ScaledJob", "TriggerAuthentication",
		"ClusterTriggerAuthentication"} {
		kinds = append(kinds, kedav1alpha1.GroupVersion.WithKind(name).GroupKind())
	}
	os.Exit(manager.Main(manager.Program{
		Name:    "keda",
		About:   "keda runs KEDA's controllers of ScaledObjects and its scalers against a cluster that has its CRDs.",
		Kinds:   kinds,
		Scheme:  kedav1alpha1.AddToScheme,
		Options: ctrl.Options{Cache: cache.Options{DefaultTransform: kedautil.CacheObjectTransform}},
		Add:     add,
		// Those of the kinds without a controller here allow everything: their failurePolicy is Ignore.
		Webhooks: &manager.Webhooks{},
	}))
}

// add does what cmd/operator/main.go of KEDA does with its default flags, except for what the README excludes.
func add(ctx context.Context, mgr ctrl.Manager) error {
	// The defaults of http-max-idle-conns-per-host and http-idle-conn-timeout.
	if err := kedautil.ConfigureHTTPTransport(kedautil.HTTPTransportConfig{
		MaxIdleConnsPerHost: 1000, IdleConnTimeout: 90 * time.Second,
	}); err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, time.Hour, informers.WithNamespace(namespace))
	secrets := factory.Core().V1().Secrets()
	authentications := &authentication.AuthClientSet{CoreV1Interface: clients.CoreV1(), SecretLister: secrets.Lister()}
	factory.Start(ctx.Done())

	scales, _, err := k8s.InitScaleClient(mgr)
	if err != nil {
		return fmt.Errorf("client of the subresource scale: %w", err)
	}
	recorder := mgr.GetEventRecorder("keda-operator")
	// 3 s is KEDA's default for the requests of scalers.
	handler := scaling.NewScaleHandler(mgr.GetClient(), scales, mgr.GetScheme(), 3*time.Second, 0, recorder,
		authentications)
	emitter := eventemitter.NewEventEmitter(mgr.GetClient(), recorder, "kubernetes-default", authentications)
	if err := (&kedacontrollers.ScaledObjectReconciler{
		Client: mgr.GetClient(), Scheme: mgr.GetScheme(), ScaleClient: scales, ScaleHandler: handler,
		EventEmitter: emitter,
	}).SetupWithManager(mgr, controller.Options{MaxConcurrentReconciles: 5}); err != nil {
		return fmt.Errorf("controller of ScaledObjects: %w", err)
	}
	if err := (&kedacontrollers.TriggerAuthenticationReconciler{
		Client: mgr.GetClient(), EventHandler: emitter,
	}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("controller of TriggerAuthentications: %w", err)
	}
	if err := (&kedacontrollers.ClusterTriggerAuthenticationReconciler{
		Client: mgr.GetClient(), EventHandler: emitter,
	}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("controller of ClusterTriggerAuthentications: %w", err)
	}
	if err := addWebhooks(mgr); err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	return serveMetrics(mgr, handler)
}

// addWebhooks adds those of cmd/webhooks/main.go, a process of its own in a cluster.
func addWebhooks(mgr ctrl.Manager) error {
	return errors.Join(
		(&kedav1alpha1.ScaledObject{}).SetupWebhookWithManager(mgr, false),
		(&kedav1alpha1.TriggerAuthentication{}).SetupWebhookWithManager(mgr),
		(&kedav1alpha1.ClusterTriggerAuthentication{}).SetupWebhookWithManager(mgr),
	)
}
