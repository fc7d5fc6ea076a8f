package actions

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type runModel struct {
	common
	commandModel
	Job *jobModel `tfsdk:"job"`
}

type jobModel struct {
	EnvVars    types.Map    `tfsdk:"env_vars"`
	WorkingDir types.String `tfsdk:"working_dir"`
	Keep       types.Bool   `tfsdk:"keep"`
}

// runCommand is kt_run.
func runCommand() action.Action {
	attributes := commandAttributes(anyPod)
	maps.Copy(attributes, tf.Attributes{
		"job": tf.OptionalObject("Runs the command in a new pod instead of the running ones, with a Job that is "+
			"created from the pod template of the compute. The pod has the image, the environment, the volumes, "+
			"the resources and the placement of the compute, including its GPUs and its queue. It has none of "+
			"its ports, probes and sidecars, and does not run its startup script. Its init containers run before "+
			"the command. The Job is deleted at the end. Conflicts with `pods` and `parallelism`. Use `{}` for the "+
			"defaults.", tf.Attributes{
			"env_vars": tf.OptionalTextMap("Environment variables, in addition to those of the container.",
				tf.NoNulls(), mapvalidator.KeysAre(tf.EnvVarName())),
			"working_dir": tf.OptionalText("Working directory. Must be an absolute path. Defaults to that of the "+
				"container.", tf.AbsolutePath()),
			"keep": tf.OptionalBool("Whether the Job is kept at the end. Defaults to `false`."),
		}),
	})
	return &operation[runModel, *runModel]{
		name: "run",
		description: "Runs a command in the pods of a compute, or in a new pod like them, and shows its output. The " +
			"action fails if the exit code of the command is not zero.",
		attributes: attributes,
		timeout:    30 * time.Minute,
		validate:   validateRun,
		invoke:     invokeRun,
	}
}

func validateRun(m *runModel) diag.Diagnostics {
	diags := m.commandModel.validate()
	if m.Job == nil {
		return diags
	}
	for name, set := range map[string]bool{ // unknown values may be null
		"pods": m.Pods.ValueString() != "", "parallelism": m.Parallelism.ValueInt64() != 0,
	} {
		if set {
			diags.AddAttributeError(path.Root(name), "Conflicting attributes", fmt.Sprintf(
				"`%s` and `job` cannot both be set: a Job runs the command in one new pod.", name))
		}
	}
	return diags
}

// validate checks the combinations of attributes; values may be unknown.
func (m *commandModel) validate() diag.Diagnostics {
	var diags diag.Diagnostics
	if elements := m.Command.Elements(); len(elements) > 0 {
		first, ok := elements[0].(types.String)
		if ok && !first.IsUnknown() && !first.IsNull() && strings.TrimSpace(first.ValueString()) == "" {
			diags.AddAttributeError(path.Root("command").AtListIndex(0), "Empty command",
				"The first item of `command` is the program to run, and must not be empty.")
		}
	}
	if m.Pods.ValueString() == anyPod && m.Parallelism.ValueInt64() != 0 {
		diags.AddAttributeError(path.Root("parallelism"), "Conflicting attributes",
			"`parallelism` has no effect with `pods = \"any\"`, which runs the command in one pod.")
	}
	return diags
}

func invokeRun(ctx context.Context, c *call, t *target, m *runModel) error {
	command := m.podCommand(c)
	if m.Job != nil {
		return c.runJob(ctx, t, command, *m.Job)
	}
	usable, others, err := c.candidates(ctx, t, ready.PodReady)
	switch {
	case err != nil:
		return err
	case len(usable) == 0:
		return c.notRunning(ctx, t, others, command.printer)
	case m.Pods.ValueString() != allPods:
		usable = usable[:1]
	case len(others) > 0:
		return refused("Some pods are not ready", fmt.Sprintf("%d of %d pods of compute %s/%s are not ready: %s. The "+
			"command was not run in any pod.\n\nNext step: Wait until all pods are ready, or set `pods = \"any\"`.",
			len(others), len(others)+len(usable), c.namespace, c.name, namesOf(others)))
	}
	command.prefixed = len(usable) > 1
	return c.run(ctx, usable, command)
}
