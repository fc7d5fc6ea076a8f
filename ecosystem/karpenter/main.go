// Command karpenter runs Karpenter's controllers with its KWOK provider against a test cluster. The nodes that it
// creates have no kubelet; the KWOK of the cluster makes them ready.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ktdev/terraform-provider-kt/ecosystem/manager"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	_ "sigs.k8s.io/karpenter/kwok/apis" // registers its types
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeoverlay"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// instanceTypes are those of the test: one with GPUs.
//
//go:embed instance_types.json
var instanceTypes []byte

func main() {
	dir, err := os.MkdirTemp("", "karpenter")
	if err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		os.Exit(1)
	}
	code := run(filepath.Join(dir, "instance_types.json"))
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func run(file string) int {
	if err := os.WriteFile(file, instanceTypes, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		return 1
	}
	with := func(ctx context.Context) context.Context {
		// Karpenter reads its flags from os.Args, which are those of manager.Main; it also reads the environment.
		args := os.Args
		os.Args = []string{args[0], "--instance-types-file-path=" + file, "--disable-leader-election=true",
			"--batch-idle-duration=1s", "--batch-max-duration=2s"}
		defer func() { os.Args = args }()
		return injection.WithOptionsOrDie(ctx, options.Injectables...)
	}
	ctx := with(context.Background())
	return manager.Main(manager.Program{
		Name:  "karpenter",
		About: "karpenter runs Karpenter's controllers with its KWOK provider against a test cluster with its CRDs.",
		Kinds: []schema.GroupKind{
			{Group: "karpenter.sh", Kind: "NodePool"}, {Group: "karpenter.sh", Kind: "NodeClaim"},
			{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass"},
		},
		Options: ctrl.Options{Scheme: scheme.Scheme, BaseContext: func() context.Context { return ctx }},
		Add:     func(running context.Context, mgr ctrl.Manager) error { return add(with(running), mgr) },
	})
}

// add does what kwok/main.go and NewOperator of Karpenter do.
func add(ctx context.Context, mgr ctrl.Manager) error {
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("indexes: %w", err)
	}
	types, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		return fmt.Errorf("instance types: %w", err)
	}
	store := nodeoverlay.NewInstanceTypeStore()
	bare := kwok.NewCloudProvider(ctx, mgr.GetClient(), types)
	provider := overlay.Decorate(bare, mgr.GetClient(), store)
	wall := clock.RealClock{}
	recorder := events.NewRecorder(mgr.GetEventRecorderFor("karpenter")) //nolint:staticcheck // it takes no other
	cluster := state.NewCluster(wall, mgr.GetClient(), provider)
	for _, controller := range controllers.NewControllers(ctx, mgr, wall, mgr.GetClient(), recorder, provider, bare,
		cluster, store) {
		if err := controller.Register(ctx, mgr); err != nil {
			return err
		}
	}
	return nil
}

// addIndexes adds the indexes that the controllers use (setupIndexers in pkg/operator).
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	const ofClaims, ofPools = "spec.nodeClassRef.", "spec.template.spec.nodeClassRef."
	errs := []error{
		index(ctx, indexer, "spec.nodeName", func(pod *corev1.Pod) string { return pod.Spec.NodeName }),
		index(ctx, indexer, "spec.providerID", func(node *corev1.Node) string { return node.Spec.ProviderID }),
		index(ctx, indexer, "spec.nodeName", func(a *storagev1.VolumeAttachment) string { return a.Spec.NodeName }),
		index(ctx, indexer, "status.providerID", func(c *karpenterv1.NodeClaim) string { return c.Status.ProviderID }),
	}
	for name, value := range map[string]func(*karpenterv1.NodeClassReference) string{
		"group": func(class *karpenterv1.NodeClassReference) string { return class.Group },
		"kind":  func(class *karpenterv1.NodeClassReference) string { return class.Kind },
		"name":  func(class *karpenterv1.NodeClassReference) string { return class.Name },
	} {
		errs = append(errs,
			index(ctx, indexer, ofClaims+name,
				func(claim *karpenterv1.NodeClaim) string { return value(claim.Spec.NodeClassRef) }),
			index(ctx, indexer, ofPools+name,
				func(pool *karpenterv1.NodePool) string { return value(pool.Spec.Template.Spec.NodeClassRef) }))
	}
	return errors.Join(errs...)
}

// index adds an index of the objects of a type by the value of a field.
func index[T any, P interface {
	*T
	client.Object
}](ctx context.Context, indexer client.FieldIndexer, field string, value func(P) string) error {
	return indexer.IndexField(ctx, P(new(T)), field, func(o client.Object) []string {
		object, ok := o.(P)
		if !ok {
			return nil
		}
		return []string{value(object)}
	})
}
