package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Import imports the object with an ID into the state.
func (r *Resource) Import(ctx context.Context, c *Command, id string) error {
	resp, err := c.server.ImportResourceState(ctx, &tfprotov6.ImportResourceStateRequest{TypeName: r.name, ID: id})
	if err != nil {
		return err
	}
	if _, err := problems(resp.Diagnostics); err != nil {
		return err
	}
	if len(resp.ImportedResources) != 1 {
		return fmt.Errorf("imported %d resources", len(resp.ImportedResources))
	}
	imported := resp.ImportedResources[0]
	if _, err := r.keep(imported.State, imported.Private, imported.Identity); err != nil {
		return err
	}
	value, _, err := r.refresh(ctx, c.server)
	if err == nil && value.IsNull() {
		err = errors.New("the imported object does not exist")
	}
	return err
}

// Move moves a resource of another provider, with its state as JSON, to this one, as a moved block does.
func (r *Resource) Move(ctx context.Context, c *Command, provider, resourceType, state string) error {
	resp, err := c.server.MoveResourceState(ctx, &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: provider, SourceTypeName: resourceType, TargetTypeName: r.name,
		SourceState: &tfprotov6.RawState{JSON: []byte(state)},
	})
	if err != nil {
		return err
	}
	if _, err := problems(resp.Diagnostics); err != nil {
		return err
	}
	if _, err := r.keep(resp.TargetState, resp.TargetPrivate, resp.TargetIdentity); err != nil {
		return err
	}
	_, _, err = r.refresh(ctx, c.server)
	return err
}
