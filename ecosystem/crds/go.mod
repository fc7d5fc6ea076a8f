// The projects whose CustomResourceDefinitions the acceptance tests install, from the module cache.
// None of them is compiled, so `go mod tidy` would remove them.
module github.com/ktdev/terraform-provider-kt/ecosystem/crds

go 1.26.5

require (
	github.com/kedacore/keda/v2 v2.21.0
	github.com/kubeflow/training-operator v1.9.3
	github.com/kubeflow/training-operator-with-mxjob v1.8.1
	github.com/prometheus-operator/prometheus-operator v0.85.0
	github.com/ray-project/kuberay/ray-operator v1.6.2
	knative.dev/serving v0.51.0
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/gateway-api-inference-extension v1.5.0
	sigs.k8s.io/jobset v0.12.0
	sigs.k8s.io/karpenter v1.14.0
	sigs.k8s.io/kueue v0.19.2
	sigs.k8s.io/lws v0.9.0
)

// MXJob was removed in 1.9.
replace github.com/kubeflow/training-operator-with-mxjob => github.com/kubeflow/training-operator v1.8.1
