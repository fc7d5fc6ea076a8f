// Command kueue runs Kueue's controllers, scheduler and webhooks against a test
// cluster.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/config"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs" // registers the integrations

	"github.com/ktdev/terraform-provider-kt/ecosystem/manager"
)

func main() {
	program, err := newProgram()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kueue:", err)
		os.Exit(1)
	}
	os.Exit(manager.Main(program))
}

func newProgram() (manager.Program, error) {
	scheme, err := newScheme()
	if err != nil {
		return manager.Program{}, err
	}
	options, settings, err := configure(scheme)
	if err != nil {
		return manager.Program{}, err
	}
	return manager.Program{
		Name:    "kueue",
		About:   "kueue runs Kueue's controllers, scheduler and webhooks against a test cluster that has its CRDs.",
		Kinds:   []schema.GroupKind{kueuev1beta2.SchemeGroupVersion.WithKind("Workload").GroupKind()},
		Options: options,
		Add: func(ctx context.Context, mgr ctrl.Manager) error {
			return add(ctx, mgr, settings)
		},
		Webhooks: &manager.Webhooks{Converted: []string{ // as in Kueue's config/components/crd/kustomization.yaml
			"clusterqueues.kueue.x-k8s.io",
			"cohorts.kueue.x-k8s.io",
			"localqueues.kueue.x-k8s.io",
			"multikueueclusters.kueue.x-k8s.io",
			"workloads.kueue.x-k8s.io",
		}},
	}, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme,
		kueuev1beta1.AddToScheme, kueuev1beta2.AddToScheme, configapi.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, jobframework.ForEachIntegration(func(_ string, integration jobframework.IntegrationCallbacks) error {
		if integration.AddToScheme == nil {
			return nil
		}
		return integration.AddToScheme(scheme)
	})
}

// settingsFile is what Kueue's manifests store in the ConfigMap kueue-manager-config.
//
//go:embed controller_manager_config.yaml
var settingsFile []byte

// configure returns Kueue's default configuration with the settings of the file.
func configure(scheme *runtime.Scheme) (ctrl.Options, *configapi.Configuration, error) {
	dir, err := os.MkdirTemp("", "kueue")
	if err != nil {
		return ctrl.Options{}, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, settingsFile, 0o600); err != nil {
		return ctrl.Options{}, nil, err
	}
	options, loaded, err := config.Load(scheme, file)
	if err != nil {
		return ctrl.Options{}, nil, fmt.Errorf("configuration: %w", err)
	}
	settings := &loaded
	features := map[string]bool{
		"VisibilityOnDemand": false, // a separate API server behind an APIService
		"MultiKueue":         false, // queues in other clusters
		// Dynamic resource allocation.
		"KueueDRAIntegration":                     false,
		"KueueDRAIntegrationExtendedResource":     false,
		"KueueDRAIntegrationPartitionableDevices": false,
	}
	if err := config.LoadAndValidateFeatureGates("", features).ToAggregate(); err != nil {
		return ctrl.Options{}, nil, fmt.Errorf("feature gates: %w", err)
	}
	if err := config.Validate(settings, scheme).ToAggregate(); err != nil {
		return ctrl.Options{}, nil, fmt.Errorf("configuration: %w", err)
	}
	return options, settings, nil
}
