// Package advice contains the texts of next steps. A next step names what the user changes by a [Field]: the image, the
// memory limit. The package that explains a failure does not know how the user declares it. So a [Text] stores its
// fields as values, and the caller that shows it passes its own words for them to [Text.In]. Text from elsewhere, such
// as the name of an object, is a value too, and is never changed.
package advice

import (
	"fmt"
	"slices"
)

// Field is what a next step refers to, in the words of Kubernetes.
type Field string

// Fields that the user changes.
const (
	Affinity         Field = "the affinity"
	APIServer        Field = "the address of the API server"
	BindingWait      Field = "wait for the claim to be bound"
	CPU              Field = "the CPU request"
	ConfigMapKey     Field = "the key of the ConfigMap in the pod template"
	ConfigMapName    Field = "the name of the ConfigMap in the pod template"
	Deadline         Field = "the active deadline"
	Devices          Field = "the request of the device"
	Disk             Field = "the ephemeral storage request"
	GPUProduct       Field = "the GPU product in the node selector"
	GPUs             Field = "the GPU request"
	HostPort         Field = "the host port"
	Image            Field = "the image"
	InitContainers   Field = "the init containers"
	MaxScale         Field = "the maximum number of pods"
	Memory           Field = "the memory request"
	MemoryLimit      Field = "the memory limit"
	Metrics          Field = "the metrics of the autoscaler"
	MinScale         Field = "the minimum number of pods"
	NodeLabels       Field = "the node selector or the node affinity"
	NodeSelector     Field = "the node selector"
	PodTemplate      Field = "the pod template"
	PriorityClass    Field = "the priority class"
	ProbePath        Field = "the path of the probe"
	ProbePort        Field = "the port of the probe"
	ProgressDeadline Field = "the progress deadline"
	Ptrace           Field = "the capability SYS_PTRACE"
	PullSecrets      Field = "the image pull secrets"
	Queue            Field = "the queue name"
	Rejected         Field = "the rejected fields"
	Replicas         Field = "the number of pods"
	Requests         Field = "the requests or the number of pods"
	Resources        Field = "requests and limits"
	RuntimeClass     Field = "the runtime class"
	SecretKey        Field = "the key of the Secret in the pod template" //nolint:gosec // not a credential
	SecretName       Field = "the name of the Secret in the pod template"
	ClaimName        Field = "the name of the claim in the pod template"
	Security         Field = "the security context"
	ServiceAccount   Field = "the service account"
	SharedMemory     Field = "the size limit of the volume at /dev/shm"
	Sidecars         Field = "the sidecars"
	Spread           Field = "the topology spread constraints"
	StartupTime      Field = "the startup probe"
	StopPolicy       Field = "the stop policy"
	Strategy         Field = "the update strategy"
	TimeLimit        Field = "the timeout"
	Triggers         Field = "the triggers of the autoscaler"
)

// Steps that are different if the objects are managed from a configuration.
const (
	AllowGPUNodes  Field = "Remove the affinity that excludes GPU nodes"
	CreateFirst    Field = "Create it first"
	DeclareNodes   Field = "declare it" // that nodes are added on demand
	DeleteAgain    Field = "delete it again"
	ReplaceObject  Field = "Replace the object"
	ScaleOtherwise Field = "use another autoscaler"
	WaitReady      Field = "Wait until the workload is ready"
)

// Text is a next step, as an imperative. The zero value is none.
type Text struct {
	text, format string // text is in the words of Kubernetes
	values       []any
}

// Of returns a next step with values, in the format of [fmt.Sprintf]. A value can be a [Field] or another [Text].
func Of(format string, values ...any) Text {
	return Text{fmt.Sprintf(format, values...), format, values}
}

// In returns the text with the words for each field from the first map that contains it. Other fields keep the words of
// Kubernetes.
func (t Text) In(words ...map[Field]string) string {
	values := slices.Clone(t.values)
	for i, value := range values {
		switch value := value.(type) {
		case Text:
			values[i] = value.In(words...)
		case Field:
			for _, of := range slices.Backward(words) { // the first one wins
				if word := of[value]; word != "" {
					values[i] = word
				}
			}
		}
	}
	return fmt.Sprintf(t.format, values...)
}

// String returns the text in the words of Kubernetes.
func (t Text) String() string { return t.text }
