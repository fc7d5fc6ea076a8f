package actions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/podstream"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/runjob"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const (
	// deleteTime limits the deletion of a Job after the end of its action.
	deleteTime = 15 * time.Second
	// extraTime is the time after the timeout of the action in which Kubernetes ends the pod of a Job, if the action
	// could not.
	extraTime = time.Minute
	// suffixLength is the length of the random part of names that Kubernetes generates.
	suffixLength = 5
)

// runJob runs a command with a Job from the pod template of a compute.
func (c *call) runJob(ctx context.Context, t *target, p podCommand, m jobModel) error {
	template, err := c.podTemplate(ctx, t)
	if err != nil {
		return err
	}
	if p.container == "" {
		p.container = ready.MainContainer(&corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
	}
	names := kind.Each(template.Spec.Containers, func(c corev1.Container) string { return c.Name })
	if err := requireContainer(p.container, names); err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	job := runjob.Render(runjob.Command{
		Compute: c.name, Namespace: c.namespace, Suffix: rand.String(suffixLength), Labels: t.Workload.GetLabels(),
		Template: *template, Container: template.Spec.Containers[slices.Index(names, p.container)],
		Args: p.args, EnvVars: tf.Texts(m.EnvVars), WorkingDir: m.WorkingDir.ValueString(),
		Deadline: max(0, time.Until(deadline)) + extraTime, Keep: m.Keep.ValueBool(),
	})
	mask, err := p.printer.mask(ctx, c.namespace, &template.Spec, ready.Starts{})
	if err != nil {
		return err
	}
	ref := kube.Ref{Kind: kind.Job(), Namespace: c.namespace, Name: job.GetName()}
	created, err := c.cluster.Apply(ctx, job)
	if err != nil && !kube.OutcomeUnknown(err) {
		return err
	}
	var uid types.UID // unknown if the response was lost
	if err == nil {
		uid = created.GetUID()
		c.did("Created Job %s", ref.Name)
		err = c.followJob(ctx, ref, p, mask)
		p.printer.end()
	}
	return c.endJob(ctx, ref, uid, m.Keep.ValueBool(), err)
}

// podTemplate returns the pod template of a compute: of its workload, of the StatefulSet that an operator created for
// it, or the pod itself.
func (c *call) podTemplate(ctx context.Context, t *target) (*corev1.PodTemplateSpec, error) {
	if t.Workload == nil {
		reason := "It consists of a Service for existing pods, and has no workload"
		if t.owner.Kind != "" {
			reason = fmt.Sprintf("Its pods belong to %s %s, a kind that the provider does not know,", t.owner.Kind,
				t.owner.Name)
		}
		return nil, refused(fmt.Sprintf("Compute %s/%s has no pod template", c.namespace, c.name), reason+
			" from which a Job could be created.\n\nNext step: Remove `job` to run the command in the existing pods.")
	}
	object := t.Workload.Object
	var at []string
	switch {
	case t.kind.Server != nil:
		made, err := c.cluster.API.Get(ctx, kube.Ref{Kind: t.kind.Parts.Kind, Namespace: c.namespace, Name: c.name})
		if err != nil {
			return nil, err
		}
		object, at = made.Object, []string{"spec", "template"}
	case t.kind.Groups != nil && len(t.kind.Groups(object)) > 0:
		at = t.kind.Groups(object)[0].Template
	default:
		if text := manifest.PodTemplatePath(object); text != "" {
			at = strings.Split(text, ".")
		}
	}
	content := kind.FieldsAt(object, at...)
	template, err := kube.As[corev1.PodTemplateSpec](&unstructured.Unstructured{Object: content}, nil)
	if err != nil || len(template.Spec.Containers) == 0 {
		return nil, refused("No pod template found", fmt.Sprintf("%s contains no pod template from which a Job could "+
			"be created.\n\nNext step: Remove `job` to run the command in the pods of the compute.", t.ref))
	}
	for _, container := range template.Spec.Containers {
		for _, mount := range container.VolumeMounts {
			mounted := func(volume corev1.Volume) bool { return volume.Name == mount.Name }
			if !slices.ContainsFunc(template.Spec.Volumes, mounted) { // of spec.volumeClaimTemplates
				return nil, refused(fmt.Sprintf("Cannot create a Job from %s", t.ref), fmt.Sprintf("Each of its pods "+
					"mounts a volume %q of its own, which the pod of a Job would not have.\n\nNext step: Remove `job` "+
					"to run the command in the pods of the compute.", mount.Name))
			}
		}
	}
	return template, nil
}

// followJob shows the output of the pod of a Job until the command ends.
func (c *call) followJob(ctx context.Context, job kube.Ref, p podCommand, mask podstream.Mask) error {
	labels := map[string]string{batchv1.JobNameLabel: job.Name}
	follow := observe.Follow{Workload: &job, Namespace: c.namespace, PodLabels: labels, Report: c.report}
	_, notReady := follow.Wait(ctx, c.cluster)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pods, err := kube.PodsNow(ctx, c.cluster.API, c.namespace, labels)
	if err != nil {
		return err
	}
	started := slices.IndexFunc(pods, func(pod *corev1.Pod) bool {
		state := ready.StatusOf(pod, p.container).State
		return state.Running != nil || state.Terminated != nil
	})
	if started < 0 {
		if notReady != nil {
			return maskNotReady(notReady, mask)
		}
		return refused("The pod of the Job was deleted", fmt.Sprintf("The pod of Job %s was deleted before it ran "+
			"the command.", job.Name))
	}
	pod := pods[started]
	failed := &commandError{pod: pod.Name, container: p.container}
	mask, show := failed.output(p.printer, "", mask, hiddenOutput)
	log := podstream.Log{Namespace: pod.Namespace, Pod: pod.Name, Container: p.container, Follow: true, Mask: mask}
	if err := log.Read(ctx, c.cluster, show); err != nil && !kube.IsNotFound(err) {
		return err
	}
	end, err := podstream.AwaitExit(ctx, c.cluster, pod, p.container)
	if err == nil {
		failed.code = int(end.ExitCode)
		if died := podstream.OutOfMemory(pod, p.container, end); died != nil && failed.code != 0 {
			err = died
		}
	}
	return joinFailures([]error{c.result(failed, err)})
}

// maskNotReady masks what a diagnosis quotes of the output of containers. A nil mask hides it.
func maskNotReady(err error, mask podstream.Mask) error {
	failed, ok := errors.AsType[*observe.NotReadyError](err)
	if !ok || failed.Verdict.Cause == nil {
		return err
	}
	return failed.Masked(mask, "The pod cannot run the command. "+hiddenOutput)
}

// endJob deletes a Job, also after an interruption, and returns the error of the action.
func (c *call) endJob(
	ctx context.Context, job kube.Ref, uid types.UID, keep bool, failure error,
) error {
	state := fmt.Sprintf("Job %s is kept.", job.Name)
	if !keep {
		state = fmt.Sprintf("Job %s was deleted, which ends the command.", job.Name)
		deleting, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTime)
		defer cancel()
		if err := c.cluster.Delete(deleting, job, uid); err != nil {
			state = fmt.Sprintf("Job %s could not be deleted: %v.", job.Name, err)
			c.warn("Job was not deleted", fmt.Sprintf("%s\n\nNext step: Delete it with `%s`.", state,
				job.Kubectl("delete")))
		} else if c.note("Deleted Job %s", job.Name); !errors.Is(context.Cause(ctx), context.Canceled) {
			c.progress("Deleted Job %s.", job.Name) // after an interruption, Terraform drops the result of the action
		}
	}
	if ctx.Err() == nil {
		return failure
	}
	return interrupted(ctx, state, c.status())
}
