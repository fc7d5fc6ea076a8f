package actions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/podstream"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// The pods in which a command runs.
const (
	anyPod  = "any"
	allPods = "all"
)

// defaultParallelism is the number of pods in which a command runs at the same time.
const defaultParallelism = 10

// commandModel contains the attributes of actions that run a command in pods. A model embeds it.
type commandModel struct {
	outputModel
	Command     types.List  `tfsdk:"command"`
	Parallelism types.Int64 `tfsdk:"parallelism"`
}

// commandAttributes returns the attributes of [commandModel].
func commandAttributes(defaultPods string) tf.Attributes {
	attributes := outputAttributes("Name of the container. Defaults to the main container.", fmt.Sprintf(
		"Pods in which the command runs: `any` ready pod, which is the first by name, or `all` pods. Defaults to `%s`.",
		defaultPods))
	maps.Copy(attributes, tf.Attributes{
		"command": tf.RequiredTexts("Command and its arguments. They are not interpreted by a shell: use " +
			"`[\"sh\", \"-c\", \"…\"]` for one."),
		"parallelism": tf.OptionalInteger(fmt.Sprintf("Maximum number of pods in which the command runs at the same "+
			"time. Defaults to `%d`.", defaultParallelism), int64validator.Between(1, 100)),
	})
	return attributes
}

// podCommand is a command that runs in pods.
type podCommand struct {
	args        []string
	container   string // "" means the main container
	parallelism int
	printer     *printer
	prefixed    bool // lines start with the name of the pod
}

func (m *commandModel) podCommand(c *call) podCommand {
	return podCommand{args: textsOf(m.Command), container: m.Container.ValueString(),
		parallelism: int(cmp.Or(m.Parallelism.ValueInt64(), defaultParallelism)), printer: c.printer(m.outputModel)}
}

// textsOf returns the items of a list of texts.
func textsOf(list types.List) []string {
	return kind.Each(list.Elements(), func(v attr.Value) string {
		text, _ := v.(types.String)
		return text.ValueString()
	})
}

// candidates returns the pods of a compute that are not ending: the usable ones, and the others.
func (c *call) candidates(
	ctx context.Context, t *target, isUsable func(*corev1.Pod) bool,
) (usable, others []*corev1.Pod, err error) {
	pods, err := t.Pods(ctx, c.cluster)
	if err != nil {
		return nil, nil, err
	}
	if len(pods) == 0 && t.guessed && t.Workload != nil && countsPods(t.Workload.Object["status"]) {
		return nil, nil, refused(fmt.Sprintf("Cannot find the pods of %s", t), fmt.Sprintf("Its status counts pods, "+
			"but no pod has the labels %v, by which the provider searches for them.\n\nNext step: Add the label %s = "+
			"%q to its pod template.", t.Labels, kind.ServiceLabel, t.name))
	}
	for _, pod := range running(pods) {
		if isUsable(pod) {
			usable = append(usable, pod)
		} else {
			others = append(others, pod)
		}
	}
	return usable, others, nil
}

// runs reports whether a container of a pod runs.
func runs(container string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		return ready.StatusOf(pod, cmp.Or(container, ready.MainContainer(pod))).State.Running != nil
	}
}

// notRunning returns the error for a compute without a usable pod. What it quotes of their output is masked like that
// of the command.
func (c *call) notRunning(ctx context.Context, t *target, others []*corev1.Pod, p *printer) error {
	state := "It has no pods."
	if len(others) > 0 {
		state = fmt.Sprintf("None of its pods is ready: %s.", namesOf(others))
	}
	if t.Workload != nil {
		verdict, err := c.follow(t, nil, nil).Assess(ctx, c.cluster)
		switch {
		case err == nil && verdict.Cause != nil:
			return p.maskFailure(ctx, &observe.NotReadyError{Ref: t.ref, Verdict: verdict})
		case err == nil && verdict.Message != "":
			state += " Status of " + t.ref.String() + ": " + verdict.Message + "."
		}
	}
	return refused(fmt.Sprintf("Compute %s/%s has no ready pod", c.namespace, c.name),
		state+"\n\nNext step: Wait until the compute is ready, and resume it if it is suspended.")
}

// namesOf returns the names of pods for messages.
func namesOf(pods []*corev1.Pod) string {
	return ready.Listed(kind.Each(pods, (*corev1.Pod).GetName), 5)
}

// lastingContainers returns the names of the containers of a pod in which a command can run.
func lastingContainers(pod *corev1.Pod) []string {
	return kind.Each(kind.LastingContainers(pod), func(container corev1.Container) string { return container.Name })
}

// requireContainer returns an error if a container is set that does not exist.
func requireContainer(name string, existing []string) error {
	if name == "" || slices.Contains(existing, name) {
		return nil
	}
	return &refusal{at: path.Root("container"), summary: "Container does not exist", detail: fmt.Sprintf(
		"The pods have no container %q.\n\nNext step: Set `container` to one of: %s.", name,
		strings.Join(existing, ", "))}
}

// commandError reports a command that failed in a pod.
type commandError struct {
	pod, container string
	code           int
	tail           tail
}

func (e *commandError) Error() string {
	detail := fmt.Sprintf("The command in container %s of pod %s exited with %d%s.", e.container, e.pod, e.code,
		map[int]string{
			126: ", with which a shell reports that a command cannot be executed",
			127: ", with which a shell reports that a command does not exist",
			137: ": it was killed (SIGKILL), for example because memory ran out",
			143: ": it was ended (SIGTERM)",
		}[e.code])
	return detail + e.tail.paragraph()
}

// output returns the mask of the output, and a function that shows a line and keeps it for the error. A nil mask hides
// the output, of which a message informs.
func (e *commandError) output(
	p *printer, prefix string, mask podstream.Mask, hidden string,
) (podstream.Mask, func(line string)) {
	if mask == nil {
		p.call.progress("%s", hidden)
		return hideLine, func(string) {}
	}
	return mask, func(line string) {
		p.line(prefix, line)
		e.tail.add(line)
	}
}

// run runs a command in pods, and returns the errors of all of them.
func (c *call) run(ctx context.Context, pods []*corev1.Pod, p podCommand) error {
	for _, pod := range pods {
		if err := requireContainer(p.container, lastingContainers(pod)); err != nil {
			return err
		}
	}
	defer p.printer.end()
	var workers errgroup.Group
	workers.SetLimit(p.parallelism)
	errs := make([]error, len(pods))
	for i, pod := range pods {
		workers.Go(func() error {
			if ctx.Err() == nil {
				errs[i] = c.runIn(ctx, pod, p)
			}
			return nil
		})
	}
	_ = workers.Wait() // errs has the errors of all pods
	if ctx.Err() != nil {
		return interrupted(ctx, "The command may still be running in the pods: Kubernetes does not end it when the "+
			"connection to it ends.", "")
	}
	return joinFailures(errs)
}

// runIn runs a command in one pod.
func (c *call) runIn(ctx context.Context, pod *corev1.Pod, p podCommand) error {
	container := cmp.Or(p.container, ready.MainContainer(pod))
	mask, err := p.printer.mask(ctx, pod.Namespace, &pod.Spec, ready.StartsOf(pod))
	if err != nil {
		return err
	}
	c.progress("Running the command in container %s of pod %s.", container, pod.Name)
	failed := &commandError{pod: pod.Name, container: container}
	prefix := ""
	if p.prefixed {
		prefix = pod.Name
	}
	mask, show := failed.output(p.printer, prefix, mask, pod.Name+": "+hiddenOutput)
	failed.code, err = podstream.Run(ctx, c.cluster,
		podstream.Command{Pod: pod, Container: container, Args: p.args, Mask: mask}, show)
	switch _, died := errors.AsType[*podstream.EndedError](err); {
	case err == nil, died:
		c.note("Ran the command in container %s of pod %s", container, pod.Name)
	case ctx.Err() != nil:
		c.note("Started the command in container %s of pod %s, where it may still run", container, pod.Name)
	}
	return c.result(failed, err)
}

// result returns the error of a command that has ended, or reports its success. err is that of waiting for its end.
func (c *call) result(command *commandError, err error) error {
	ended, died := errors.AsType[*podstream.EndedError](err)
	switch {
	case died:
		return &endedError{ended, command.tail}
	case err != nil:
		return err
	case command.code != 0:
		return command
	}
	c.progress("Command exited with 0 in pod %s.", command.pod)
	return nil
}

// endedError is a pod that ended during a command, with the output before.
type endedError struct {
	*podstream.EndedError

	tail tail
}

// Explain adds the output to the cause.
func (e *endedError) Explain() (summary string, cause ready.Cause) {
	summary, cause = e.EndedError.Explain()
	cause.Summary += e.tail.paragraph()
	return summary, cause
}

// joinFailures returns one error for the pods in which a command failed.
func joinFailures(errs []error) error {
	failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(failed) {
	case 0:
		return nil
	case 1:
		if command, ok := errors.AsType[*commandError](failed[0]); ok {
			return refused(fmt.Sprintf("Command exited with %d in pod %s", command.code, command.pod), command.Error())
		}
		return failed[0]
	}
	details := kind.Each(failed[:min(len(failed), 10)], error.Error)
	if more := len(failed) - len(details); more > 0 {
		details = append(details, fmt.Sprintf("It failed in %d more pods.", more))
	}
	return refused(fmt.Sprintf("Command failed in %d of %d pods", len(failed), len(errs)),
		strings.Join(details, "\n\n"))
}

// interrupted returns the error of a command after the end of ctx. status is added to that of a timeout.
func interrupted(ctx context.Context, state, status string) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return refused("Timeout of the command", fmt.Sprintf("%v %s%s\n\n"+
			"Next step: If it only needs more time, increase `timeout`.", context.Cause(ctx), state, status))
	}
	return refused("The command was interrupted", "The run was interrupted. "+state)
}
