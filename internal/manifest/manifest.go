// Package manifest renders a compute into the Kubernetes objects that run it.
//
// It is pure: the same [Compute] always results in the same objects, and nothing
// is read from a cluster, a file or the environment. The kinds of workload that
// can run a compute are in the table of package kind.
package manifest

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// KubetorchVersion is the release of Kubetorch that the pods install by default.
const KubetorchVersion = "0.5.0"

// Defaults of attributes.
const (
	DefaultImage            = "ghcr.io/run-house/server:v3"
	DefaultServiceAccount   = "kubetorch-service-account"
	DefaultInstallNamespace = "kubetorch"
	DefaultLogLevel         = "info"
	DefaultDistribution     = "spmd"
	DefaultLaunchTimeout    = 15 * time.Minute
)

// Compute is the input for the objects of one kt_compute. A zero field is an
// attribute that is not set.
type Compute struct {
	Name      string // RFC 1035 label, or with ManifestOnly the name of any object
	Namespace string

	Username         string // a label value; empty: no username label
	InstallNamespace string // where Kubetorch's controller runs

	KubetorchVersion string // release of Kubetorch that the pods install; empty: [KubetorchVersion]
	// Revision renders the content of the pods. Number zero is the newest.
	Revision Revision

	// From the configuration of the provider. Labels and Annotations override them.
	DefaultLabels, DefaultAnnotations map[string]string

	CPUs, Memory, DiskSize *resource.Quantity // requests of the container
	// Limits are those of the container. Extended resources have the limit of their request.
	Limits map[string]resource.Quantity
	GPUs   int64 // complete NVIDIA GPUs
	// ExtendedResources are requests and limits of extended resources, by their complete name.
	ExtendedResources map[string]resource.Quantity
	GPUMemory         *resource.Quantity // share of one GPU, for KAI; excludes GPUs
	GPUType           NodeLabel          // of nodes with the requested GPUs
	GPUProductLabel   string             // key of a GPUType without one; "": nvidia.com/gpu.product
	SharedMemoryLimit *resource.Quantity // size of /dev/shm

	Replicas int64
	// ReplicasGiven reports whether the attribute is set. Otherwise, the numbers in
	// Manifest apply, or the default.
	ReplicasGiven bool
	Suspend       bool // renders no replicas; all else is unchanged

	// Runtime is kind.RuntimeKubetorch (also if empty), kind.RuntimeSkyTorch or
	// kind.RuntimeKPU.
	Runtime string
	// Command and Args are those of the container. If both are empty, Kubetorch's
	// server runs, or the command of the image of a tensor server.
	Command, Args []string
	// Port and HealthPath describe the server that Command and Args run. Without a
	// port, the container has no probes. Without a path, probes connect to the port.
	Port       int64
	HealthPath string
	// Ports are further ports of the container and the Service, and Service configures the Service; nil: ClusterIP.
	Ports   []Port
	Service *ServiceSettings
	// Probes replaces the probes of the server; nil: those of Kubetorch, or for Port and HealthPath.
	Probes  *ProbeSettings
	PreStop *PreStop
	// VolumeClaimTemplates are templates of claims for the pod of a tensor server.
	VolumeClaimTemplates []VolumeClaimTemplate
	// NoOverride reports whether the installed CRD of a tensor server has neither
	// override nor volumeClaimTemplates, as in SkyTorch 0.1.0. Attributes that need
	// them are an error. Implied fields, such as the tolerations of GPUs, are omitted.
	NoOverride bool

	Labels, Annotations map[string]string // on the workload and its pods
	PodLabels           map[string]string // only on the pods, in addition to Labels
	RestartTriggers     map[string]string // replaces the pods if it changes
	// Strategy is how a Deployment replaces its pods, "Recreate" or "RollingUpdate"; empty: see kind.StrategyOf.
	Strategy                 string
	MaxSurge, MaxUnavailable string // limits of a rolling update, such as "1" or "50%"; empty: see there

	NodeSelector       map[string]string
	Tolerations        []corev1.Toleration
	GPUAntiAffinity    bool // excludes nodes with GPUs; ignored if GPUs are requested
	ServiceAccountName string
	PriorityClassName  string
	RuntimeClassName   *string
	SecurityContext    *SecurityContext
	HostNetwork        bool
	TopologySpread     []corev1.TopologySpreadConstraint // on the pods of the compute; see defaultMaxSkew
	Affinity           *corev1.Affinity                  // in addition to GPUAntiAffinity
	// TerminationGracePeriod is the time between SIGTERM and SIGKILL, in whole seconds; nil: Kubernetes' default, 30 s.
	TerminationGracePeriod *time.Duration
	QueueName              string
	QueueScheduler         string // kind.QueueSchedulerKueue (also if empty) or kind.QueueSchedulerKAI

	Image                string
	ImagePullPolicy      string
	ImagePullSecrets     []string // names of Secrets of the same namespace
	WorkingDir           string
	EnvVars              map[string]string
	Secrets              []SecretRef
	ConfigMaps           []ConfigMapRef
	EnvFrom              []EnvFrom
	Volumes              []VolumeRef
	InitContainers       []Container // run one after the other before the main container
	Sidecars             []Container // run beside the main container
	Load                 *Load
	Freeze               bool          // nothing is installed or synced into the pod
	LaunchTimeout        time.Duration // time that the server may take to start
	LogLevel             string        // "debug", "info", …, in any case
	InactivityTTL        string        // verbatim, as Kubetorch reads it: "30m"
	AllowedSerialization []string

	// ServiceTemplate is merged over the rendered workload by MergeTemplate. It must
	// not change the identity of the workload, and Suspend overrides it.
	ServiceTemplate map[string]any

	// HeldByQueue renders a suspended workload that its queue resumes, if Kueue
	// admits its kind this way. It is for creation and resumption only; see
	// LeftAfterCreation.
	HeldByQueue bool

	// Resumed renders suspend: false for a workload that was suspended, because
	// KubeRay does not resume a RayCluster without the field.
	Resumed bool

	// ImageSetup runs in the container before the server starts; nil for none.
	ImageSetup *ImageSetup

	// Autoscale scales the compute with its load; excludes Distribute.
	Autoscale *Autoscale
	// Distribute runs the compute on several workers.
	Distribute *Distribute

	// Job runs the command to its end; excludes Autoscale, Distribute and Manifest.
	Job *Job

	// Manifest is a workload of the user, to which the provider adds its defaults.
	// PodTemplatePath is the path of its pod template, for kinds that are not in the
	// table.
	Manifest        map[string]any
	PodTemplatePath []string
	// ManifestOnly renders Manifest without additions, and no other object.
	ManifestOnly bool

	// KeptSelector is spec.selector of the existing workload, if it is another one than that of this provider; see
	// [ForeignSelector].
	KeptSelector map[string]any
	// Selector selects the pods of the compute. Without Manifest, they exist already,
	// and no workload is rendered.
	Selector map[string]string

	// Endpoint replaces the Service that selects the pods of the compute; nil for
	// that Service.
	Endpoint *Endpoint

	// DisruptionBudget limits evictions of the pods; nil for none.
	DisruptionBudget *DisruptionBudget

	// Expose makes the Service reachable from outside of the cluster; nil for none.
	Expose *Expose

	// Settings are the attributes that the user has set.
	Settings []Setting

	// Registered adds the KubetorchWorkload with which Python clients find the
	// compute. Its CRD must be installed.
	Registered bool
	// Logging configures the logs that clients of a registered compute receive.
	Logging Logging
}

// Logging is LoggingConfig of Kubetorch, without the level. Nil is Kubetorch's
// default.
type Logging struct {
	StreamLogs, IncludeSystemLogs, IncludeEvents, IncludeName *bool

	GracePeriod, PollTimeout, ShutdownGracePeriod *time.Duration
}

// ImageSetup contains what pods need to apply a kt_image.
type ImageSetup struct {
	ConfigMap  string // its name; the script is its key setup.sh
	Digest     string // of its content, so that a change restarts the pods
	PythonPath string // the python to run the server with; empty: found in PATH
	InstallCmd string // command line to which the package is appended; empty: uv or pip
}

// Autoscale contains the settings of an autoscaler. A zero field is not set.
type Autoscale struct {
	Scaler string // ScalerKnative (also if empty), which runs a Knative Service, ScalerHPA or ScalerKEDA

	// Of a HorizontalPodAutoscaler. The types of metrics and targets follow from what is set. KEDA has a Behavior too.
	Metrics  []autoscalingv2.MetricSpec
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
	// Of KEDA.
	Triggers                        []Trigger
	PollingInterval, CooldownPeriod *time.Duration // whole seconds

	// Of Knative (https://knative.dev/docs/serving/autoscaling/), except the scales.
	MinScale, MaxScale, InitialScale *int64
	Target                           *int64
	TargetUtilization                *int64 // percent, 1 to 100
	Metric                           string // "concurrency", "rps", "cpu", "memory", or a custom metric
	Window                           string // a duration: "60s"
	Concurrency                      *int64 // maximum number of concurrent requests per pod
	ScaleDownDelay                   string
	ScaleToZeroPodRetentionPeriod    string
	AutoscalerClass                  string // kind.KPAClass or kind.HPAClass
	ProgressDeadline                 string
	// ExtraAnnotations are further annotations of the template. The domain
	// autoscaling.knative.dev is added to a key without one.
	ExtraAnnotations map[string]string
}

// Distribute configures distributed workers, as Kubetorch's distribute.
type Distribute struct {
	Type           string // DefaultDistribution (also if empty), "pytorch", "jax", "tensorflow", "monarch" or "ray"
	Workers        int64  // all pods, including the first; zero: Replicas
	QuorumWorkers  *int64 // number of workers that must be found before a call starts
	QuorumTimeout  string // how long a call waits for them, a duration
	MonitorMembers *bool
	Args           map[string]any // further settings of the type, verbatim
}

// VolumeClaimTemplate is the template of a PersistentVolumeClaim for the pod of a
// tensor server. The claim, <name>-<compute>-0, is not deleted with the pod.
type VolumeClaimTemplate struct {
	Name         string // DNS label
	Size         *resource.Quantity
	MountPath    string // absolute
	StorageClass string // empty: the cluster's default
	AccessMode   string // empty: ReadWriteOnce
}

// Endpoint is an alternative to the Service that selects the pods of the compute.
// Exactly one of its fields is set.
type Endpoint struct {
	URL      string            // the address of the compute: no Service is rendered
	Selector map[string]string // the Service selects these pods instead
}

// Mode returns the value of the attribute mode, such as "deployment".
func (c Compute) Mode() string { return kindOf(c).Mode }

// Render returns the normalized objects of a compute: the workload, unless the
// pods exist already, then the Services, and the others that attributes ask for. They share
// no data with c.
//
// The error has the type [Errors]: every problem with its attribute.
func Render(c Compute) ([]*unstructured.Unstructured, error) {
	if errs := validate(c); len(errs) > 0 {
		return nil, errs
	}
	rendered, err := renderMaps(c)
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, len(rendered))
	for i, object := range rendered {
		objects[i] = &unstructured.Unstructured{Object: normalize(object)}
	}
	return objects, nil
}

// renderMaps renders the objects without their final form, which is sufficient to find errors.
func renderMaps(c Compute) ([]map[string]any, error) {
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
	if c.ManifestOnly {
		return rendered, nil
	}
	for _, service := range renderServices(c, k, workload) {
		rendered = append(rendered, generated(toMap(service)))
	}
	if c.DisruptionBudget != nil {
		rendered = append(rendered, generated(renderDisruptionBudget(c)))
	}
	if c.Autoscale.scalesWorkload() && !c.Suspend { // it could start pods again
		rendered = append(rendered, renderAutoscaler(c, k))
	}
	if c.Expose != nil {
		rendered = append(rendered, generated(renderExpose(c)))
	}
	if c.Registered && !k.RunsTensorServer() { // Kubetorch's clients speak another protocol
		rendered = append(rendered, generated(renderRegistration(c, k, workload)))
	}
	return rendered, nil
}

func renderWorkload(c Compute, k kind.Kind) (map[string]any, error) {
	render := complete
	switch {
	case c.ManifestOnly:
		render = asIs
	case k.RunsTensorServer():
		render = renderTensorServer
	}
	rendered, err := render(c, k)
	if err != nil {
		return nil, err
	}
	if c.KeptSelector != nil && k.Selects {
		keepSelector(c, k, rendered)
	}
	if len(c.ServiceTemplate) > 0 {
		merged := MergeTemplate(rendered, c.ServiceTemplate)
		if errs := checkTemplate(k, rendered, merged); len(errs) > 0 {
			return nil, errs
		}
		rendered = merged
	}
	if c.Autoscale.scalesWorkload() {
		kind.SetAt(rendered, k.Scale, nil)
	}
	queued := QueueOf(rendered, k.Workload) != ""
	for _, s := range k.Suspension {
		_, set := kind.Find(rendered, s.Path)
		switch {
		case c.Suspend || c.HeldByQueue && queued:
			kind.SetAt(rendered, s.Path, s.Value)
		case queued && s.Value == true:
			kind.SetAt(rendered, s.Path, nil) // the queue has admitted a manifest that is suspended for it
		case c.Resumed && s.Value == true && !set:
			kind.SetAt(rendered, s.Path, false)
		}
	}
	if c.Suspend && queued {
		kind.SetAt(rendered, queueLabel(), nil)
	}
	return rendered, nil
}

// generated removes the empty strings of attributes that are not set from a
// rendered object.
func generated(object map[string]any) map[string]any {
	result, _ := withoutEmptyText(object, "").(map[string]any)
	return result
}
