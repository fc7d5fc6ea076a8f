package tf

import (
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// AttributeErrors returns each error of a renderer as a diagnostic of its attribute. summary is for any other error.
// Without an error, it returns nothing.
func AttributeErrors(summary string, err error) diag.Diagnostics {
	var diags diag.Diagnostics
	found, ok := errors.AsType[manifest.Errors](err)
	if !ok && err != nil {
		diags.AddError(summary, err.Error())
	}
	for _, e := range found {
		diags.AddAttributeError(PathOf(e.Path), e.Summary, e.Detail)
	}
	return diags
}

// PathOf returns the path of an attribute of a renderer.
func PathOf(p manifest.Path) path.Path {
	at := path.Empty()
	for _, step := range p {
		switch step := step.(type) {
		case manifest.Name:
			at = at.AtName(string(step))
		case manifest.Entry:
			at = at.AtMapKey(string(step))
		case manifest.Index:
			at = at.AtListIndex(int(step))
		}
	}
	return at
}
