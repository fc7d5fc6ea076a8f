package datasources

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type tlsModel struct {
	CACertificate types.String `tfsdk:"ca_certificate"`
	ServerName    types.String `tfsdk:"server_name"`
	Insecure      types.Bool   `tfsdk:"insecure"`
}

func tlsAttribute() schema.Attribute {
	return tf.OptionalObject("TLS of the connection to the endpoint; `{}` uses the defaults. If omitted, only the "+
		"connection to an `https` URL uses TLS.", tf.Attributes{
		"ca_certificate": tf.OptionalText("Certificates of the certificate authorities to trust, in PEM format. " +
			"Defaults to those of the system."),
		"server_name": tf.OptionalText("Name that the certificate of the server must have. Defaults to the host of " +
			"the address, such as `trainer.ml.svc.cluster.local`."),
		"insecure": tf.OptionalBool("Whether to accept any certificate. Defaults to `false`."),
	})
}

func tokenAttribute() schema.Attribute {
	return tf.OptionalSecret("Bearer token of each request, in the header `Authorization` or the metadata " +
		"`authorization`. The state contains it. Requires TLS, or a port-forward, which is encrypted up to the node " +
		"of the pod.")
}

func securityOf(tls *tlsModel, token types.String) endpoint.Security {
	security := endpoint.Security{Token: token.ValueString()}
	if tls != nil {
		security.TLS, security.Insecure = true, tls.Insecure.ValueBool()
		security.CACertificate, security.ServerName = tls.CACertificate.ValueString(), tls.ServerName.ValueString()
	}
	return security
}

// validateSecurity rejects invalid certificates, and a token that would be sent without encryption. at is the path of
// the object that contains the attributes.
func validateSecurity(at path.Path, s endpoint.Security, route endpoint.Route) diag.Diagnostics {
	var diags diag.Diagnostics
	if err := s.Check(); err != nil {
		diags.AddAttributeError(at.AtName("tls").AtName("ca_certificate"), "Invalid certificate",
			"ca_certificate "+err.Error()+".\n\nNext step: Set it to the content of a PEM file, for example with "+
				"`file(\"ca.crt\")`.")
	}
	if s.ExposesToken(route) {
		diags.AddAttributeError(at.AtName("token"), "Token without encryption",
			"The token would be sent without encryption ("+route.String()+").\n\nNext step: Set `tls`, or `via` to "+
				"`port_forward`.")
	}
	return diags
}
