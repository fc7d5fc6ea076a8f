// Command karpenter runs Karpenter's controllers with its KWOK provider against a test cluster. The nodes that it
// creates have no kubelet; the KWOK of the cluster makes them ready.
package main

import (
	"context"
	_ "embed"
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
		About: "karpenter runs Karpenter's controllers with its KWOK provider against a test cluster that has its CRDs.",
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
	real := clock.RealClock{}
	recorder := events.NewRecorder(mgr.GetEventRecorderFor("karpenter"))
	cluster := state.NewCluster(real, mgr.GetClient(), provider)
	for _, controller := range controllers.NewControllers(ctx, mgr, real, mgr.GetClient(), recorder, provider, bare,
		cluster, store) {
		if err := controller.Register(ctx, mgr); err != nil {
			return err
		}
	}
	return nil
}

// addIndexes adds the indexes that the controllers use (setupIndexers in pkg/operator).
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	add := func(object client.Object, field string, value func(client.Object) string) error {
		return indexer.IndexField(ctx, object, field, func(o client.Object) []string { return []string{value(o)} })
	}
	claim := func(o client.Object) *karpenterv1.NodeClaim { return o.(*karpenterv1.NodeClaim) }
	class := func(o client.Object) *karpenterv1.NodeClassReference {
		if pool, ok := o.(*karpenterv1.NodePool); ok {
			return pool.Spec.Template.Spec.NodeClassRef
		}
		return claim(o).Spec.NodeClassRef
	}
	const ofClaims, ofPools = "spec.nodeClassRef.", "spec.template.spec.nodeClassRef."
	for _, index := range []struct {
		object client.Object
		field  string
		value  func(client.Object) string
	}{
		{&corev1.Pod{}, "spec.nodeName", func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName }},
		{&corev1.Node{}, "spec.providerID", func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID }},
		{&storagev1.VolumeAttachment{}, "spec.nodeName",
			func(o client.Object) string { return o.(*storagev1.VolumeAttachment).Spec.NodeName }},
		{&karpenterv1.NodeClaim{}, "status.providerID", func(o client.Object) string { return claim(o).Status.ProviderID }},
		{&karpenterv1.NodeClaim{}, ofClaims + "group", func(o client.Object) string { return class(o).Group }},
		{&karpenterv1.NodeClaim{}, ofClaims + "kind", func(o client.Object) string { return class(o).Kind }},
		{&karpenterv1.NodeClaim{}, ofClaims + "name", func(o client.Object) string { return class(o).Name }},
		{&karpenterv1.NodePool{}, ofPools + "group", func(o client.Object) string { return class(o).Group }},
		{&karpenterv1.NodePool{}, ofPools + "kind", func(o client.Object) string { return class(o).Kind }},
		{&karpenterv1.NodePool{}, ofPools + "name", func(o client.Object) string { return class(o).Name }},
	} {
		if err := add(index.object, index.field, index.value); err != nil {
			return err
		}
	}
	return nil
}
