// Package runjob renders a Job that runs one command in a pod like those of a compute.
//
// It is pure: it reads nothing from a cluster, a file or the environment.
package runjob

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Command is the input for a Job.
type Command struct {
	Compute, Namespace string
	Suffix             string                 // of the name; unique
	Template           corev1.PodTemplateSpec // of the pods of the compute; not modified
	Labels             map[string]string      // of the workload; those of queues are kept

	Container  corev1.Container // of the template, which runs the command
	Args       []string
	EnvVars    map[string]string // in addition to those of the container
	WorkingDir string            // "" means that of the container
	Deadline   time.Duration     // after which Kubernetes ends the pod
	Keep       bool              // otherwise, Kubernetes deletes the Job some time after its end
}

// keepTime is the time after which Kubernetes deletes a Job that has ended, if its creator could not.
const keepTime = 10 * time.Minute

// maxName is the maximum length of the name of a Job whose pods have names derived from it
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/).
const maxName = 63

// Render returns the Job. Its pod has the volumes, the environment,
// the resources and the placement of a pod of the compute. It does not have its labels, so that neither Services nor
// controllers select it. Of the other containers, only the init containers that end before the command starts remain.
func Render(c Command) *unstructured.Unstructured {
	template, main := c.Template.DeepCopy(), c.Container.DeepCopy()
	c.run(main)
	queue := queueLabels(c.Labels, template.Labels)
	template.ObjectMeta = metav1.ObjectMeta{Labels: queue, Annotations: template.Annotations}
	spec := &template.Spec
	spec.Containers = []corev1.Container{*main}
	spec.InitContainers = slices.DeleteFunc(spec.InitContainers, kind.IsSidecar)
	spec.EphemeralContainers = nil
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.NodeName, spec.Hostname, spec.Subdomain = "", "", ""
	spec.Priority, spec.PreemptionPolicy = nil, nil // set by the server for the class
	spec.ActiveDeadlineSeconds = nil
	spec.TopologySpreadConstraints = nil

	labels := map[string]string{kind.ManagedByLabel: kind.ManagedByValue}
	maps.Copy(labels, queue)
	typed := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: name(c.Compute, "-run-"+c.Suffix), Namespace: c.Namespace, Labels: labels},
		Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: *template,
			ActiveDeadlineSeconds: new(int64(math.Ceil(c.Deadline.Seconds())))},
	}
	if !c.Keep {
		typed.Spec.TTLSecondsAfterFinished = new(int32(keepTime.Seconds()))
	}
	object, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(typed) // it contains only types of the API
	delete(object, "status")
	return &unstructured.Unstructured{Object: object}
}

// run makes a container run the command, instead of a server.
func (c Command) run(container *corev1.Container) {
	container.Command, container.Args = c.Args, nil
	container.Ports, container.Lifecycle, container.RestartPolicy = nil, nil, nil
	container.StartupProbe, container.ReadinessProbe, container.LivenessProbe = nil, nil, nil
	if c.WorkingDir != "" {
		container.WorkingDir = c.WorkingDir
	}
	container.Env = slices.DeleteFunc(container.Env, func(v corev1.EnvVar) bool {
		_, replaced := c.EnvVars[v.Name]
		return replaced
	})
	for _, name := range manifest.SortedEnv(c.EnvVars) {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: c.EnvVars[name]})
	}
}

// queueLabels returns the labels by which a queue admits the pods.
func queueLabels(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, labels := range all {
		for _, key := range []string{kind.KueueQueueLabel, kind.KAIQueueLabel} {
			if value := labels[key]; value != "" {
				out[key] = value
			}
		}
	}
	return out
}

// FromCronJob returns a Job of a CronJob, as `kubectl create job --from` does. suffix is the unique part of its name.
func FromCronJob(cronJob *unstructured.Unstructured, suffix string) *unstructured.Unstructured {
	spec, _ := kind.Find(cronJob.Object, []string{"spec", "jobTemplate", "spec"})
	job := &unstructured.Unstructured{Object: map[string]any{"spec": runtime.DeepCopyJSONValue(spec)}}
	job.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	job.SetNamespace(cronJob.GetNamespace())
	job.SetName(name(cronJob.GetName(), "-manual-"+suffix))
	job.SetLabels(kind.TextsAt(cronJob.Object, "spec", "jobTemplate", "metadata", "labels"))
	annotations := kind.TextsAt(cronJob.Object, "spec", "jobTemplate", "metadata", "annotations")
	annotations["cronjob.kubernetes.io/instantiate"] = "manual"
	job.SetAnnotations(annotations)
	// blockOwnerDeletion would require permission for the finalizers of the CronJob
	job.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: cronJob.GetAPIVersion(), Kind: cronJob.GetKind(),
		Name: cronJob.GetName(), UID: cronJob.GetUID(), Controller: new(true)}})
	return job
}

// name returns the name of a compute with an end, shortened to the maximum length.
func name(compute, end string) string {
	return strings.TrimRight(compute[:min(len(compute), maxName-len(end))], "-.") + end
}
