package actions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kube/podstream"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const (
	// followTime is the default of duration.
	followTime = 30 * time.Second
	// logsTimeout is the default timeout of kt_logs.
	logsTimeout = time.Hour
)

type logsModel struct {
	common
	outputModel
	AllContainers types.Bool  `tfsdk:"all_containers"`
	Duration      tf.Duration `tfsdk:"duration"`
	TailLines     types.Int64 `tfsdk:"tail_lines"`
	Since         tf.Duration `tfsdk:"since"`
	Previous      types.Bool  `tfsdk:"previous"`
}

// showLogs is kt_logs.
func showLogs() action.Action {
	attributes := outputAttributes(
		"Name of the container. Defaults to the main container. Conflicts with `all_containers`.",
		"Pods whose logs are shown: `all`, or `any`, which is the first existing one by name. Defaults to `all`.")
	maps.Copy(attributes, tf.Attributes{
		"all_containers": tf.OptionalBool("Whether the logs of all containers are shown, also of those that " +
			"initialize the pod. Defaults to `false`."),
		"duration": tf.OptionalDuration(fmt.Sprintf("How long the logs are followed, such as `5m`. With `0`, only the "+
			"existing lines are shown. Defaults to `%s`.", manifest.FormatDuration(followTime))),
		"tail_lines": tf.OptionalInteger("Number of existing lines to show of each container, the newest. Defaults to "+
			"all.", int64validator.AtLeast(0)),
		"since": tf.OptionalDuration("Age of the oldest existing line to show, such as `10m`. Defaults to any age."),
		"previous": tf.OptionalBool("Whether the logs of the previous runs of the containers are shown, which ended " +
			"before the last restart. They cannot be followed. Defaults to `false`."),
	})
	return &operation[logsModel, *logsModel]{
		name: "logs",
		description: "Shows the logs of the pods of a compute, and follows them for some time. Pods that appear in " +
			"this time are included, and the end of a container or a pod is reported.",
		attributes: attributes,
		timeout:    logsTimeout,
		validate:   validateLogs,
		invoke:     invokeLogs,
	}
}

func validateLogs(m *logsModel) diag.Diagnostics {
	var diags diag.Diagnostics
	conflict := func(name, reason string) {
		diags.AddAttributeError(path.Root(name), "Conflicting attributes", reason)
	}
	if m.Container.ValueString() != "" && m.AllContainers.ValueBool() {
		conflict("container", "`container` and `all_containers` cannot both be set.")
	}
	if m.Previous.ValueBool() && tf.DurationOr(m.Duration, 0) > 0 {
		conflict("duration", "The log of a previous run has ended: remove `duration` or `previous`.")
	}
	if tf.DurationOr(m.Since, time.Second) <= 0 {
		diags.AddAttributeError(path.Root("since"), "Invalid duration", "`since` must be more than zero.")
	}
	limit := tf.DurationOr(m.Timeout, logsTimeout)
	known := !m.Timeout.IsUnknown() && !m.Duration.IsUnknown() && !m.Previous.IsUnknown()
	if known && !m.Previous.ValueBool() && tf.DurationOr(m.Duration, followTime) >= limit {
		conflict("duration", fmt.Sprintf("`duration` must be shorter than `timeout`, which is %s. Without `duration`, "+
			"the logs are followed for %s.", manifest.FormatDuration(limit), manifest.FormatDuration(followTime)))
	}
	return diags
}

func invokeLogs(ctx context.Context, c *call, t *target, m *logsModel) error {
	p := c.printer(m.outputModel)
	logs := podstream.Logs{
		PodSource: t.PodSource,
		Container: m.Container.ValueString(), All: m.AllContainers.ValueBool(), Previous: m.Previous.ValueBool(),
	}
	pods, err := logs.Pods(ctx, c.cluster)
	if err != nil {
		return err
	}
	if err := checkContainer(pods, logs.Container, podstream.Containers); err != nil {
		return err
	}
	if m.Pods.ValueString() == anyPod && len(pods) > 0 {
		logs.Pod = pods[0].Name
	}
	logs.TailLines = m.TailLines.ValueInt64Pointer()
	if !m.Since.IsNull() {
		since := tf.DurationOr(m.Since, 0)
		logs.Since = &since
	}
	reading := ctx
	if follow := tf.DurationOr(m.Duration, followTime); follow > 0 && !logs.Previous {
		logs.Follow = true
		var cancel context.CancelFunc
		reading, cancel = context.WithTimeout(ctx, follow)
		defer cancel()
	}
	masks := &hiddenPods{printer: p}
	logs.Mask = masks.mask
	totals, err := logs.Read(reading, c.cluster, func(line podstream.Line) {
		prefix := line.Pod
		if line.Container != "" {
			prefix += "/" + line.Container
		}
		switch {
		case line.Event:
			c.progress("%s: (%s)", prefix, line.Text)
		case !masks.has(line.Pod):
			p.line(prefix, line.Text)
		}
	})
	p.end()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case totals.Containers == 0:
		c.warn("No logs to show", c.withoutLogs(ctx, t, len(pods), logs.Previous))
		return nil
	}
	c.progress("End of the logs: %s of %s in %s.", advice.Number(totals.Lines, "line"),
		advice.Number(totals.Containers, "container"), advice.Number(totals.Pods, "pod"))
	return nil
}

// checkContainer returns an error if there are pods, and none has a container.
func checkContainer(pods []*corev1.Pod, name string, containers func(*corev1.Pod) []string) error {
	if len(pods) == 0 {
		return nil
	}
	var existing []string
	for _, pod := range pods {
		existing = append(existing, containers(pod)...)
	}
	slices.Sort(existing)
	return requireContainer(name, slices.Compact(existing))
}

// withoutLogs returns the reason why no log was shown.
func (c *call) withoutLogs(ctx context.Context, t *target, pods int, previous bool) string {
	reason := fmt.Sprintf("Compute %s/%s has no pods.", c.namespace, c.name)
	switch {
	case pods > 0 && previous:
		reason = "No container has a previous run: none was restarted."
	case pods > 0:
		reason = "No container has started."
	}
	if t.Workload != nil && !previous {
		if verdict, err := c.follow(t, nil, nil).Assess(ctx, c.cluster); err == nil && verdict.Message != "" {
			reason += " Status of " + t.ref.String() + ": " + verdict.Message + "."
		}
	}
	return reason
}

// hiddenPods are the pods whose output is not shown, because their Secrets cannot be read.
type hiddenPods struct {
	printer *printer
	names   sync.Map
}

func (h *hiddenPods) mask(ctx context.Context, pod *corev1.Pod) (podstream.Mask, error) {
	mask, err := h.printer.mask(ctx, pod.Namespace, &pod.Spec, ready.StartsOf(pod))
	if err != nil || mask != nil {
		return mask, err
	}
	if _, known := h.names.LoadOrStore(pod.Name, true); !known {
		h.printer.call.progress("%s: %s", pod.Name, hiddenOutput)
	}
	return hideLine, nil
}

func (h *hiddenPods) has(pod string) bool {
	_, hidden := h.names.Load(pod)
	return hidden
}
