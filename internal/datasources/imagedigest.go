package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// imageDigest is the data source kt_image_digest. Unlike the others, it needs no cluster.
type imageDigest struct{ data *tf.ProviderData }

type imageDigestModel struct {
	Image       types.String `tfsdk:"image"`
	Digest      types.String `tfsdk:"digest"`
	PinnedImage types.String `tfsdk:"pinned_image"`
}

// Metadata sets the type name.
func (*imageDigest) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_image_digest"
}

// Schema sets the schema.
func (*imageDigest) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Requests the current digest of an image tag from its registry. Unlike `pin_digest` of " +
			"`kt_image`, the digest is part of a saved plan: the apply of the plan runs the image that was reviewed, " +
			"even if the tag has moved. Uses the same credentials as docker, and needs no cluster.",
		Attributes: map[string]schema.Attribute{
			"image": schema.StringAttribute{Required: true, Validators: []validator.String{tf.ImageReference()},
				MarkdownDescription: "Image, such as `nvcr.io/nvidia/pytorch:26.06-py3`. An image with a digest " +
					"causes no request."},
			"digest": computedString("Digest, `sha256:…`. For a multi-platform image, this is the digest of the " +
				"index, from which each node selects its platform."),
			"pinned_image": computedString("Image with the digest, as `repository@sha256:…`, for `image` of " +
				"`kt_compute`."),
		},
	}
}

// Configure stores the provider's data.
func (d *imageDigest) Configure(
	_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse,
) {
	data, diags := tf.DataOf(req.ProviderData)
	d.data = data
	resp.Diagnostics.Append(diags...)
}

// Read requests the digest.
func (d *imageDigest) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m imageDigestModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	pin, err := d.data.Images.Resolve(ctx, m.Image.ValueString())
	if err != nil {
		resp.Diagnostics.Append(tf.RegistryFailure(err, path.Root("image"), "set the image by its digest", ""))
		return
	}
	m.Digest, m.PinnedImage = types.StringValue(pin.Digest), types.StringValue(pin.Image)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
