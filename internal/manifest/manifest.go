// Package manifest renders a compute into the Kubernetes objects that run it.
//
// It is pure: the same [Compute] always gives the same objects, and nothing is
// read from a cluster, a file or the environment. A compute can be run by
// several kinds of workload; each is one row of the table in kinds.go and one
// file of its own.
package manifest

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// What Kubetorch fixes for every compute.
const (
	KubetorchVersion = "0.5.0" // release of Kubetorch that the pods install where a compute names none
)

// What a compute gets where its attribute is not set.
const (
	DefaultImage            = "ghcr.io/run-house/server:v3"
	DefaultServiceAccount   = "kubetorch-service-account"
	DefaultInstallNamespace = "kubetorch"
	DefaultLogLevel         = "info"
	DefaultLaunchTimeout    = 15 * time.Minute
)

// The schedulers that a queue can belong to.
const (
	QueueSchedulerKueue = "kueue"
	QueueSchedulerKAI   = "kai"
)

// Compute is everything that decides the objects of one kt_compute. A zero
// field is an attribute that is not set.
type Compute struct {
	Name      string // RFC 1035 label
	Namespace string

	Username         string // a label value; empty: no username label
	InstallNamespace string // where Kubetorch's own controller runs

	KubetorchVersion string // release of Kubetorch that the pods install; empty: [KubetorchVersion]
	// Revision is how what runs in the pods is rendered; the newest one where its
	// number is zero.
	Revision Revision

	// Of the provider. They go where Labels and Annotations go, and lose
	// against them.
	DefaultLabels, DefaultAnnotations map[string]string

	CPUs, Memory, DiskSize *resource.Quantity // requests of the container
	GPUs                   int64              // whole NVIDIA GPUs
	GPUMemory              *resource.Quantity // share of one GPU, for KAI; excludes GPUs
	GPUType                string             // see ParseGPUType
	SharedMemoryLimit      *resource.Quantity // size of /dev/shm

	Replicas int64
	// ReplicasGiven tells a number that was asked for from the default. The
	// numbers in Manifest stand unless one was asked for.
	ReplicasGiven bool
	// ReplicasKept tells that Replicas is a number that somebody else scaled the
	// workload to, and that stays: the numbers of Distribute and Manifest give way.
	ReplicasKept bool
	Suspend      bool // renders no replicas and keeps everything else
	// DesignedFor is the number of replicas that the strategy is chosen for,
	// where somebody may scale the workload without changing the rest of it;
	// zero: Replicas.
	DesignedFor int64

	// Runtime is what runs in the container: RuntimeKubetorch (also where empty),
	// RuntimeSkyTorch or RuntimeKPU.
	Runtime string
	// Only tensor servers have these: what the container runs, the image's own
	// entrypoint where empty, and the claims that are made for its pod.
	Command, Args        []string
	VolumeClaimTemplates []VolumeClaimTemplate
	// NoOverride says that the installed kind of a tensor server has neither override nor volumeClaimTemplates, as that
	// of SkyTorch 0.1.0. What needs them and was given is an error; what only follows, such as tolerations,
	// is left out.
	NoOverride bool

	Labels, Annotations map[string]string // on the workload and its pods

	NodeSelector       map[string]string
	Tolerations        []Toleration
	GPUAntiAffinity    bool // keep off nodes with GPUs; ignored where a GPU is asked for
	ServiceAccountName string
	PriorityClassName  string
	QueueName          string
	QueueScheduler     string // QueueSchedulerKueue (also where empty) or QueueSchedulerKAI

	Image                string
	ImagePullPolicy      string
	ImagePullSecrets     []string // names of Secrets of the same namespace
	WorkingDir           string
	EnvVars              map[string]string
	Secrets              []SecretRef
	Volumes              []VolumeRef
	Freeze               bool          // nothing is installed or synced into the pod
	LaunchTimeout        time.Duration // how long the server may take to start
	LogLevel             string        // "debug", "info", …, in any case
	InactivityTTL        string        // verbatim, as Kubetorch reads it: "30m"
	AllowedSerialization []string

	// ServiceTemplate is merged over the finished workload, as MergeTemplate
	// says. Only the identity of the workload and Suspend stand above it.
	ServiceTemplate map[string]any

	// HeldByQueue renders a workload that waits for its queue to release it, as
	// its kind wants that. It is for creation and resumption only; see
	// LeftAfterCreation.
	HeldByQueue bool

	// Resumed renders that the workload is not suspended, rather than nothing, for
	// one that has been: KubeRay resumes a RayCluster by nothing less.
	Resumed bool

	// ImageSetup is run in the container before the server starts; nil for none.
	ImageSetup *ImageSetup

	// Autoscale runs the compute as a Knative Service; excludes Distribute.
	Autoscale *Autoscale
	// Distribute spreads the compute over workers.
	Distribute *Distribute

	// Manifest is the user's own workload, under which Kubetorch's defaults are
	// merged. PodTemplatePath is where its pod template is, for kinds that are
	// not known.
	Manifest        map[string]any
	PodTemplatePath []string

	// Selector finds the compute's pods. Without Manifest there is no workload:
	// the pods exist already.
	Selector map[string]string

	// Endpoint says how the compute is reached. Nil: a Service selects the
	// compute's own pods.
	Endpoint *Endpoint

	// Settings are the attributes that the user has set.
	Settings []Setting

	// Registered adds the KubetorchWorkload by which Python users find the
	// compute. Its CRD must be installed.
	Registered bool
	// Logging is for those who follow the logs of a registered compute.
	Logging Logging
}

// Logging is Kubetorch's LoggingConfig but for the level. Nil is Kubetorch's
// own default.
type Logging struct {
	StreamLogs, IncludeSystemLogs, IncludeEvents, IncludeName *bool

	GracePeriod, PollTimeout, ShutdownGracePeriod *time.Duration
}

// ImageSetup is what a kt_image asks of the pods.
type ImageSetup struct {
	ConfigMap  string // its name; the script is its key setup.sh
	Digest     string // of its content, so that a change rolls the pods
	PythonPath string // the python to run the server with; empty: found in PATH
	InstallCmd string // the command line before the package to install; empty: with uv or pip
}

// Autoscale is Knative's autoscaling of a compute. A zero field is one that is
// not set. The annotations are those of
// https://knative.dev/docs/serving/autoscaling/.
type Autoscale struct {
	MinScale, MaxScale, InitialScale *int64
	Target                           *int64
	TargetUtilization                *int64 // percent, 1 to 100
	Metric                           string // "concurrency", "rps", "cpu", "memory", or one of the user's
	Window                           string // durations, as Knative reads them: "60s"
	Concurrency                      *int64 // most requests at a time in one pod
	ScaleDownDelay                   string
	ScaleToZeroPodRetentionPeriod    string
	AutoscalerClass                  string // "kpa.autoscaling.knative.dev" or "hpa.autoscaling.knative.dev"
	ProgressDeadline                 string
	// ExtraAnnotations are further annotations of the template. A key without a
	// domain is one of autoscaling.knative.dev.
	ExtraAnnotations map[string]string
}

// Distribute is how a compute is spread over workers, Kubetorch's distribute.
type Distribute struct {
	Type           string // "spmd" (also where empty), "pytorch", "jax", "tensorflow", "monarch" or "ray"
	Workers        int64  // all pods, the first one included; zero: Replicas
	QuorumWorkers  *int64 // how many must be there before a call starts
	QuorumTimeout  string // how long to wait for them, a duration
	MonitorMembers *bool
	Args           map[string]any // further settings of the type, verbatim
}

// Toleration is one toleration of the pods, as in the Kubernetes API.
type Toleration struct {
	Key, Operator, Value, Effect string

	TolerationSeconds *int64
}

// SecretRef gives the pods a Secret: as one environment variable per key, as a
// read-only directory, or as both.
type SecretRef struct {
	Name      string
	EnvVars   []string // keys of the Secret, and the names of the variables
	MountPath string   // absolute
	// DefaultMode are the permission bits of the mounted files, 0 to 0777; nil: Kubernetes' default, 0644.
	DefaultMode *int32
}

// VolumeRef mounts a PersistentVolumeClaim into the pods.
type VolumeRef struct {
	ClaimName string
	MountPath string // absolute
	ReadOnly  bool
}

// VolumeClaimTemplate is a PersistentVolumeClaim that is made for the pod of a
// tensor server, and outlives it: <name>-<compute>-0.
type VolumeClaimTemplate struct {
	Name         string // DNS label
	Size         *resource.Quantity
	MountPath    string // absolute
	StorageClass string // empty: the cluster's default
	AccessMode   string // empty: ReadWriteOnce
}

// Endpoint replaces the Service that selects the compute's own pods. Exactly
// one of its fields is set.
type Endpoint struct {
	URL      string            // reached there: no Service is rendered
	Selector map[string]string // the Service selects these pods instead
}

// Mode is the way that the compute is run, the value of its attribute mode:
// "deployment".
func (c Compute) Mode() string { return kindOf(c).Mode }

// Render returns the objects of a compute, normalized: the workload, if the
// pods do not exist already, then the Services and the registration, if there
// are any. What it returns shares nothing with c.
//
// The error is of type [Errors]: all that is wrong, each part with the
// attribute it belongs to.
func Render(c Compute) ([]*unstructured.Unstructured, error) {
	if errs := validate(c); len(errs) > 0 {
		return nil, errs
	}
	return renderObjects(c)
}

func renderObjects(c Compute) ([]*unstructured.Unstructured, error) {
	k := kindOf(c)
	var rendered []map[string]any
	var workload map[string]any
	if !k.Empty() {
		var err error
		if workload, err = renderWorkload(c, k); err != nil {
			return nil, err
		}
		rendered = append(rendered, workload)
	}
	services, err := renderServices(c, k, workload)
	if err != nil {
		return nil, err
	}
	for _, service := range services {
		rendered = append(rendered, generated(service))
	}
	if c.Registered && !k.RunsTensorServer() { // Kubetorch's clients speak another protocol
		rendered = append(rendered, generated(renderRegistration(c, k, workload)))
	}
	objects := make([]*unstructured.Unstructured, len(rendered))
	for i, object := range rendered {
		objects[i] = &unstructured.Unstructured{Object: normalizeMap(object, "")}
	}
	return objects, nil
}

func renderWorkload(c Compute, k kind.Kind) (map[string]any, error) {
	render := generate
	if c.Manifest != nil {
		render = complete
	}
	rendered, err := render(c, k)
	if err != nil {
		return nil, err
	}
	if len(c.ServiceTemplate) > 0 {
		merged := MergeTemplate(rendered, c.ServiceTemplate)
		if errs := checkTemplate(k, rendered, merged); len(errs) > 0 {
			return nil, errs
		}
		rendered = merged
	}
	queued := k.Admitted && kind.TextAt(rendered, "metadata", "labels", kind.KueueQueueLabel) != ""
	for _, s := range k.Suspension {
		switch {
		case c.Suspend || c.HeldByQueue && queued:
			kind.SetAt(rendered, s.Path, s.Value)
		case c.Resumed && s.Value == true && !queued:
			kind.SetAt(rendered, s.Path, false)
		}
	}
	if c.Suspend && queued {
		kind.SetAt(rendered, []string{"metadata", "labels", kind.KueueQueueLabel}, nil)
	}
	return rendered, nil
}

// generate is the workload of a compute that brings no manifest.
func generate(c Compute, k kind.Kind) (map[string]any, error) {
	spec, err := specOf(c, k)
	if err != nil {
		return nil, fmt.Errorf("rendering the %s of %s/%s: %w", k.Kind, c.Namespace, c.Name, err)
	}
	return generated(map[string]any{
		"apiVersion": k.GroupVersion().String(),
		"kind":       k.Kind,
		"metadata":   workloadMetadata(c, k),
		"spec":       spec,
	}), nil
}

func specOf(c Compute, k kind.Kind) (map[string]any, error) {
	if k.RunsTensorServer() {
		return tensorServerSpec(c, k.Server)
	}
	return k.Spec(asked(c, k))
}

// generated is an object that the renderer made, without the empty strings of
// attributes that are not set.
func generated(object map[string]any) map[string]any {
	result, _ := withoutEmptyText(object, "", true).(map[string]any)
	return result
}
