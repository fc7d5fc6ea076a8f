package actions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/kube/podstream"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const (
	// maxLines is the maximum number of lines of output that an action shows.
	maxLines = 10_000
	// lastLines is the number of lines of output in an error.
	lastLines = 20
)

// outputModel contains the attributes of actions that show output of pods. A model embeds it.
type outputModel struct {
	Container   types.String `tfsdk:"container"`
	Pods        types.String `tfsdk:"pods"`
	MaskSecrets types.Bool   `tfsdk:"mask_secrets"`
	MaskValues  types.List   `tfsdk:"mask_values"`
}

// maskAttribute is the attribute that sets whether the values of Secrets are masked.
const maskAttribute = "mask_secrets"

// outputAttributes returns the attributes of [outputModel], with the descriptions of container and pods.
func outputAttributes(container, pods string) tf.Attributes {
	return tf.Attributes{
		"container": tf.OptionalText(container, tf.ServiceName()),
		"pods":      tf.OptionalText(pods, stringvalidator.OneOf(anyPod, allPods)),
		maskAttribute: tf.OptionalBool("Whether the values of the Secrets that the pods use are masked in the " +
			"output, which needs permission to get these Secrets. Without it, the output is not shown. With `false`, " +
			"the Secrets are not read, and their values can appear in the output of Terraform. Defaults to `true`."),
		"mask_values": tf.OptionalTexts("Other values that are masked in the output, such as a sensitive variable. "+
			"Terraform hides sensitive values in plans, but does not tell a provider which ones they are.",
			tf.NoNulls()),
	}
}

// printer shows the output of pods as progress. Its methods are safe for concurrent use.
type printer struct {
	call    *call
	values  podstream.Mask   // of the configuration, without secrets
	secrets *observe.Secrets // nil: they are not masked

	mu           sync.Mutex
	shown, total int
	hidden       sync.Once // warns that the output of a pod is not shown
}

func (c *call) printer(m outputModel) *printer {
	values := kind.Each(textsOf(m.MaskValues), func(value string) []byte { return []byte(value) })
	p := &printer{call: c, values: kube.NewMasker(values).Mask}
	if m.MaskSecrets.IsNull() || m.MaskSecrets.ValueBool() {
		p.secrets = observe.NewSecrets(c.cluster, values...)
	}
	return p
}

// hiddenOutput replaces all lines of a pod whose secret values are not known.
const hiddenOutput = "(output not shown: the Secrets of the pod cannot be masked)"

// hideLine is the mask of output that is not shown.
func hideLine(string) string { return "" }

// mask returns the mask for the output of a pod. Without permission to read its Secrets, and if they had other values
// when its first container has started, it hides all output.
func (p *printer) mask(
	ctx context.Context, namespace string, spec *corev1.PodSpec, started ready.Starts,
) (podstream.Mask, error) {
	if p.secrets == nil {
		return p.values, nil
	}
	mask, err := p.secrets.Mask(ctx, namespace, spec, started)
	_, former := errors.AsType[*observe.FormerSecretError](err)
	if kube.ClassOf(err) != kube.Denied && !former {
		return mask, err
	}
	next := "Grant permission to get the Secrets of the pods"
	if former {
		next = "Restart the pods, or run the Job again"
	}
	p.hidden.Do(func() {
		p.call.warn("Output is not shown", fmt.Sprintf("The output may contain values of Secrets, which must be read "+
			"to mask them: %v.\n\nNext step: %s, or set `%s = false` if the output contains no secrets.", err, next,
			maskAttribute))
	})
	return nil, nil // nil hides the output
}

// maskFailure masks what a diagnosis quotes of the output of a pod, or hides it if the pod cannot be read.
func (p *printer) maskFailure(ctx context.Context, failed *observe.NotReadyError) error {
	logs := failed.Verdict.Cause.Logs
	if logs == nil {
		return failed
	}
	var mask podstream.Mask
	pod, err := kube.PodNow(ctx, p.call.cluster.API, logs.Namespace, logs.Pod)
	if err == nil {
		if mask, err = p.mask(ctx, pod.Namespace, &pod.Spec, ready.StartsOf(pod)); err != nil {
			return err
		}
	}
	return maskNotReady(failed, mask)
}

// line shows a line of output.
func (p *printer) line(prefix, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total++; p.shown >= maxLines {
		return
	}
	p.shown++
	if prefix != "" {
		text = prefix + ": " + text
	}
	p.call.output(text)
}

// end states how many lines were not shown.
func (p *printer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if more := p.total - p.shown; more > 0 {
		p.call.progress("%d more lines of output are not shown: an action shows at most %d lines.", more, maxLines)
	}
}

// output sends a line to Terraform, even if it is the same as the previous one.
func (c *call) output(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(line)
}

// tail keeps the last lines of output for an error.
type tail struct{ lines []string }

func (t *tail) add(line string) {
	if t.lines = append(t.lines, line); len(t.lines) > lastLines {
		t.lines = t.lines[1:]
	}
}

// paragraph returns the lines after a blank line, or "".
func (t *tail) paragraph() string {
	if len(t.lines) == 0 {
		return ""
	}
	return "\n\nLast lines of the output:\n  " + strings.Join(t.lines, "\n  ")
}
