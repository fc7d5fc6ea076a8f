package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type imageDigestModel struct {
	Image       types.String `tfsdk:"image"`
	Digest      types.String `tfsdk:"digest"`
	PinnedImage types.String `tfsdk:"pinned_image"`
}

const imageDigestDescription = "Requests the current digest of an image tag from its registry. Unlike `pin_digest` " +
	"of `kt_image`, the digest is part of a saved plan: the apply of the plan runs the image that was reviewed, even " +
	"if the tag has moved. Uses the same credentials as docker, and needs no cluster."

func imageDigestAttributes() tf.Attributes {
	return tf.Attributes{
		"image": tf.RequiredText("Image, such as `nvcr.io/nvidia/pytorch:26.06-py3`. An image with a digest causes no "+
			"request.", tf.ImageReference()),
		"digest": tf.ComputedString("Digest, `sha256:…`. For a multi-platform image, this is the digest of the " +
			"index, from which each node selects its platform."),
		"pinned_image": tf.ComputedString("Image with the digest, as `repository@sha256:…`, for `image` of " +
			"`kt_compute`."),
	}
}

func readImageDigest(ctx context.Context, data *tf.ProviderData, m *imageDigestModel) diag.Diagnostics {
	pin, err := data.Images.Resolve(ctx, m.Image.ValueString())
	if err != nil {
		return diag.Diagnostics{tf.RegistryFailure(err, path.Root("image"), "set the image by its digest", "")}
	}
	m.Digest, m.PinnedImage = types.StringValue(pin.Digest), types.StringValue(pin.Image)
	return nil
}
