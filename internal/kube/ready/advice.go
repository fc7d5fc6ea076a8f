package ready

import (
	"fmt"
	"regexp"
	"strings"
)

// Advice is a next step, as an imperative. It contains the fields that the
// user changes: "Check " + FieldImage + ", and that the nodes can reach it."
type Advice string

// Fields that the user changes, in the words of Kubernetes. A caller that has
// other names for them replaces them with [Advice.Word].
const (
	FieldAffinity         Advice = "{the affinity}"
	FieldAPIServer        Advice = "{the address of the API server}"
	FieldBindingWait      Advice = "{wait for the claim to be bound}"
	FieldCPU              Advice = "{the CPU request}"
	FieldConfigMapKey     Advice = "{the key of the ConfigMap in the pod template}"
	FieldConfigMapName    Advice = "{the name of the ConfigMap in the pod template}"
	FieldDeadline         Advice = "{the active deadline}"
	FieldDevices          Advice = "{the request of the device}"
	FieldDisk             Advice = "{the ephemeral storage request}"
	FieldGPUProduct       Advice = "{the GPU product in the node selector}"
	FieldGPUs             Advice = "{the GPU request}"
	FieldHostPort         Advice = "{the host port}"
	FieldImage            Advice = "{the image}"
	FieldInitContainers   Advice = "{the init containers}"
	FieldMaxScale         Advice = "{the maximum number of pods}"
	FieldMemory           Advice = "{the memory request}"
	FieldMemoryLimit      Advice = "{the memory limit}"
	FieldMetrics          Advice = "{the metrics of the autoscaler}"
	FieldMinScale         Advice = "{the minimum number of pods}"
	FieldNodeLabels       Advice = "{the node selector or the node affinity}"
	FieldNodeSelector     Advice = "{the node selector}"
	FieldPodTemplate      Advice = "{the pod template}"
	FieldPriorityClass    Advice = "{the priority class}"
	FieldProbePath        Advice = "{the path of the probe}"
	FieldProbePort        Advice = "{the port of the probe}"
	FieldProgressDeadline Advice = "{the progress deadline}"
	FieldPtrace           Advice = "{the capability SYS_PTRACE}"
	FieldPullSecrets      Advice = "{the image pull secrets}"
	FieldQueue            Advice = "{the queue name}"
	FieldRejected         Advice = "{the rejected fields}"
	FieldReplicas         Advice = "{the number of pods}"
	FieldRequests         Advice = "{the requests or the number of pods}"
	FieldResources        Advice = "{requests and limits}"
	FieldRuntimeClass     Advice = "{the runtime class}"
	FieldSecretKey        Advice = "{the key of the Secret in the pod template}"
	FieldSecretName       Advice = "{the name of the Secret in the pod template}"
	FieldClaimName        Advice = "{the name of the claim in the pod template}"
	FieldSecurity         Advice = "{the security context}"
	FieldServiceAccount   Advice = "{the service account}"
	FieldSharedMemory     Advice = "{the size limit of the volume at /dev/shm}"
	FieldSidecars         Advice = "{the sidecars}"
	FieldSpread           Advice = "{the topology spread constraints}"
	FieldStartupTime      Advice = "{the startup probe}"
	FieldStopPolicy       Advice = "{the stop policy}"
	FieldStrategy         Advice = "{the update strategy}"
	FieldTimeLimit        Advice = "{the timeout}"
	FieldTriggers         Advice = "{the triggers of the autoscaler}"
)

// Steps that are different if the objects are managed from a configuration.
const (
	StepAllowGPUNodes  Advice = "{Remove the affinity that excludes GPU nodes}"
	StepCreateFirst    Advice = "{Create it first}"
	StepDeclareNodes   Advice = "{declare it}" // that nodes are added on demand
	StepDelete         Advice = "{delete it again}"
	StepReplace        Advice = "{Replace the object}"
	StepScaleOtherwise Advice = "{use another autoscaler}"
	StepWaitReady      Advice = "{Wait until the workload is ready}"
)

// NodesOnDemand is appended if it is unknown whether nodes are added on demand.
const NodesOnDemand = " If nodes are added on demand, " + StepDeclareNodes + "."

// Advise formats an advice, as [fmt.Sprintf] does.
func Advise(format Advice, values ...any) Advice {
	return Advice(fmt.Sprintf(string(format), values...))
}

var partOfAdvice = regexp.MustCompile(`\{[A-Za-z/_ ]+\}`)

// Word replaces the fields and steps in an advice by those of the first map
// that contains them. Others keep the words of Kubernetes.
func (a Advice) Word(maps ...map[Advice]string) Advice {
	return Advice(partOfAdvice.ReplaceAllStringFunc(string(a), func(part string) string {
		for _, words := range maps {
			if word := words[Advice(part)]; word != "" {
				return word
			}
		}
		return strings.Trim(part, "{}")
	}))
}
