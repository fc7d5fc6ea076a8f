package actions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// The values of on_failure.
const (
	haltOnFailure     = "halt"
	continueOnFailure = "continue"
)

type checkpointModel struct {
	common
	commandModel
	OnFailure   types.String `tfsdk:"on_failure"`
	RequirePods types.Bool   `tfsdk:"require_pods"`
}

// checkpoint is kt_checkpoint.
func checkpoint() action.Action {
	attributes := commandAttributes(allPods)
	maps.Copy(attributes, tf.Attributes{
		"on_failure": tf.OptionalText("Result of the action if the checkpoint fails: `halt` is an error, so that "+
			"Terraform does not change or destroy a compute that triggers the action before it does. `continue` "+
			"is a warning. An interruption is always an error. Defaults to `halt`.",
			stringvalidator.OneOf(haltOnFailure, continueOnFailure)),
		"require_pods": tf.OptionalBool("Whether the checkpoint fails if no pod runs, for example because the " +
			"compute is suspended. Otherwise, there is nothing to save, and the action succeeds. Defaults to `false`."),
	})
	return &operation[checkpointModel, *checkpointModel]{
		name: "checkpoint",
		description: "Runs a command in the pods of a compute that saves their state, before the compute is changed " +
			"or destroyed.",
		attributes: attributes,
		timeout:    30 * time.Minute,
		holds:      heldByAny,
		validate:   func(m *checkpointModel) diag.Diagnostics { return m.commandModel.validate() },
		invoke:     invokeCheckpoint,
		conclude:   concludeCheckpoint,
	}
}

// concludeCheckpoint records whether the compute must not be destroyed. With `on_failure = "continue"`, it makes an
// error a warning.
func concludeCheckpoint(ctx context.Context, c *call, m *checkpointModel, err error) error {
	continues := m.OnFailure.ValueString() == continueOnFailure
	switch {
	case err == nil, continues:
		c.found = true // so that nothing is held
	case c.found:
		c.warnings.Append(holdWarning(c.holds.Add(tf.ComputeType, c.namespace+"/"+c.name, heldByCheckpoint))...)
	}
	if err == nil || !continues || errors.Is(context.Cause(ctx), context.Canceled) { // canceled: the user stops the run
		return err
	}
	failed := diagnosticOf(err)
	c.warn("Checkpoint failed: "+failed.Summary(), failed.Detail()+ignoredFailure)
	return nil
}

// heldByCheckpoint is why a compute is not destroyed.
const heldByCheckpoint = "A kt_checkpoint of a compute of this name and namespace failed in this run, so it was not " +
	"destroyed.\n\n" +
	"Next step: Correct the problem that the kt_checkpoint reports, and run the destroy again. Or set `on_failure = " +
	"\"continue\"` in the kt_checkpoint to destroy the compute without a checkpoint."

// heldByAny is why no compute is destroyed.
const heldByAny = "A kt_checkpoint failed in this run before it had found its compute, so no compute was " +
	"destroyed.\n\nNext step: Correct the problem that the kt_checkpoint reports, and run the destroy again."

// holdWarning reports that other configurations of the provider do not know of a hold.
func holdWarning(err error) diag.Diagnostics {
	if err == nil {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Other providers of this run do not know of the checkpoint",
		fmt.Sprintf("Only computes of the same provider configuration as the kt_checkpoint are kept if it fails: "+
			"%v.\n\nNext step: Make the directory for temporary files writable.", err))}
}

const ignoredFailure = "\n\nThe run continues (`on_failure = \"continue\"`)."

func invokeCheckpoint(ctx context.Context, c *call, t *target, m *checkpointModel) error {
	command := m.podCommand(c)
	// A pod that runs has state to save, even if it is not ready to receive requests.
	usable, others, err := c.candidates(ctx, t, runs(command.container))
	if err == nil {
		err = checkContainer(slices.Concat(usable, others), command.container, lastingContainers)
	}
	switch {
	case err != nil:
		return err
	case len(usable) == 0 && m.RequirePods.ValueBool():
		return c.notRunning(ctx, t, others, command.printer)
	case len(usable) == 0:
		c.progress("Nothing to save: compute %s/%s has no running pod.", c.namespace, c.name)
		if len(others) > 0 {
			c.warn("No checkpoint", fmt.Sprintf("No pod of compute %s/%s runs, so nothing was saved: %s.", c.namespace,
				c.name, namesOf(others)))
		}
		return nil
	case m.Pods.ValueString() == anyPod:
		usable, others = usable[:1], nil
	}
	if len(others) > 0 {
		c.warn("No checkpoint of some pods", fmt.Sprintf("%d of %d pods of compute %s/%s do not run, so their state "+
			"was not saved: %s.", len(others), len(others)+len(usable), c.namespace, c.name, namesOf(others)))
	}
	command.prefixed = len(usable) > 1
	if err := c.run(ctx, usable, command); err != nil {
		return err
	}
	c.progress("Checkpoint of %s completed.", advice.Number(len(usable), "pod"))
	return nil
}
