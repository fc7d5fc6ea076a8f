package kind

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The runtimes of a compute. With the last two, an operator runs a tensor server.
const (
	RuntimeKubetorch = "kubetorch" // also if empty
	RuntimeSkyTorch  = "skytorch"
	RuntimeKPU       = "kpu" // the earlier name of SkyTorch
)

const (
	// ModeCompute is the mode of a compute that is a Compute resource of an operator.
	ModeCompute = "compute"
	// TensorServerPort is the gRPC port of the operator's Service and gateway.
	TensorServerPort = 50051
	// TensorServerContainer is the operator's name for the container.
	TensorServerContainer = "server"
)

// The labels by which the operator's StatefulSet and Service select the pods. A
// label in spec.labels overrides the operator's label.
const (
	OperatorNameLabel     = "app.kubernetes.io/name"
	OperatorInstanceLabel = "app.kubernetes.io/instance"
)

// SkyTorchCompute is compute.skytorch.dev/v1alpha1 Compute.
func SkyTorchCompute() Kind { return must(SkyTorchGroup, "Compute") }

// skyTorchCompute is a Compute of the SkyTorch operator, which creates a StatefulSet
// with one pod and a Service, both with the name of the compute. The fields are those of
// pkg/apis/compute/v1alpha1 in github.com/astefanutti/skytorch.
func skyTorchCompute() Kind {
	return tensorServer(SkyTorchGroup, &TensorServer{
		Runtime: RuntimeSkyTorch, Name: "skytorch-server", EnvPrefix: "SKYTORCH_", Runner: SkyTorch,
	})
}

// kpuCompute is a Compute of KPU. It has no fields override, volumeClaimTemplates
// and resources.
func kpuCompute() Kind {
	return tensorServer(KPUGroup, &TensorServer{
		Runtime: RuntimeKPU, Name: "kpu-torch-server", EnvPrefix: "KPU_", Runner: KPU,
	})
}

// tensorServer returns the kind of an operator that runs a tensor server. Its
// grace period is that of the operators' own Python clients (skytorch/client/compute.py in
// github.com/astefanutti/skytorch), and of the pods.
func tensorServer(group string, server *TensorServer) Kind {
	made := statefulSet()
	made.LabelSelector = OfServices // operators copy the labels of the compute
	k := workload(schema.GroupVersion{Group: group, Version: "v1alpha1"}, "Compute", &Workload{
		Container:  TensorServerContainer,
		Server:     server,
		Picks:      func(c Compute) bool { return c.Runtime == server.Runtime },
		Groups:     always(),
		Suspension: suspendField("spec", "suspend"),
		Restart:    restartBy(ByDeletion), // by the StatefulSet of the operator
		Refuses:    map[Operation]Refusal{Scaling: refusal("Its operator runs one pod.", "Create several of them.")},
		Fixed:      [][]string{{"spec", "labels", ServiceLabel}},
		// They are copied to a StatefulSet, in which they are immutable.
		CreationOnly: [][]string{{"spec", "volumeClaimTemplates"}},
		OwnService:   true,
		Children:     children(map[string]string{"StatefulSet": `^$`}),
		Parts:        &Parts{Kind: made},
		PodsDecide:   true, // its status counts pods of any template
		Readiness:    OfTensorServer,
	})
	k.Grace = 30
	return k
}

// ComputeSpec is the spec of a Compute of an operator. KPU has only the first fields.
type ComputeSpec struct {
	Labels               map[string]string                      `json:"labels"`
	Annotations          map[string]string                      `json:"annotations"`
	Image                string                                 `json:"image"`
	Command              []string                               `json:"command"`
	Args                 []string                               `json:"args"`
	Env                  []corev1.EnvVar                        `json:"env"`
	Resources            corev1.ResourceList                    `json:"resources"`
	VolumeClaimTemplates []corev1.PersistentVolumeClaimTemplate `json:"volumeClaimTemplates"`
	Override             corev1.PodSpec                         `json:"override"` // merged over the spec of the pods
}
