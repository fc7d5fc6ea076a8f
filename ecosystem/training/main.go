// Command training runs the training operator's controllers for PyTorchJob,
// TFJob and XGBoostJob against a test cluster.
//
// Its webhooks are not included: they do not compile with the controller-runtime
// that Kueue needs, and only reject objects that the CRDs allow.
package main

import (
	"context"
	"fmt"
	"os"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	"github.com/kubeflow/training-operator/pkg/controller.v1/xgboost"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ktdev/terraform-provider-kt/ecosystem/manager"
)

func main() {
	os.Exit(manager.Main(manager.Program{
		Name: "training",
		About: "training runs the training operator's controllers for PyTorchJob, TFJob and XGBoostJob against a " +
			"test cluster that has their CRDs.",
		Kinds: []schema.GroupKind{
			{Group: kubeflowv1.GroupVersion.Group, Kind: kubeflowv1.PyTorchJobKind},
			{Group: kubeflowv1.GroupVersion.Group, Kind: kubeflowv1.TFJobKind},
			{Group: kubeflowv1.GroupVersion.Group, Kind: kubeflowv1.XGBoostJobKind},
		},
		Scheme: kubeflowv1.AddToScheme,
		Add:    add,
	}))
}

func add(_ context.Context, mgr ctrl.Manager) error {
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault

	const threads = 1 // the operator's default
	setup := common.GenNonGangSchedulerSetupFunc()
	if err := pytorch.NewReconciler(mgr, setup).SetupWithManager(mgr, threads); err != nil {
		return fmt.Errorf("PyTorchJob controller: %w", err)
	}
	if err := tensorflow.NewReconciler(mgr, setup).SetupWithManager(mgr, threads); err != nil {
		return fmt.Errorf("TFJob controller: %w", err)
	}
	if err := xgboost.NewReconciler(mgr, setup).SetupWithManager(mgr, threads); err != nil {
		return fmt.Errorf("XGBoostJob controller: %w", err)
	}
	return nil
}
