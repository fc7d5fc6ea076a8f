package compute

import (
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Protocols of expose.
const (
	protocolHTTP = "http"
	protocolGRPC = "grpc"
)

func (c *converter) decodeExpose(object types.Object) *manifest.Expose {
	if object.IsNull() {
		return nil
	}
	m := decodeObject[exposeModel](c, object)
	e := &manifest.Expose{
		Hosts: c.decodeTexts(m.Hosts), Path: m.Path.ValueString(), GRPC: m.Protocol.ValueString() == protocolGRPC,
		Annotations: c.decodeMap(m.Annotations), IngressClass: m.IngressClassName.ValueString(),
		TLSSecret: m.TLSSecretName.ValueString(),
	}
	if !m.Gateway.IsNull() {
		gateway := decodeObject[gatewayModel](c, m.Gateway)
		e.Gateway = &manifest.GatewayRef{Name: gateway.Name.ValueString(), Namespace: gateway.Namespace.ValueString(),
			SectionName: gateway.SectionName.ValueString()}
	}
	return e
}

// encodeExpose omits the defaults of the attributes. Only a route shows the protocol; with an Ingress it is kept.
func (c *converter) encodeExpose(attribute *types.Object, e *manifest.Expose) {
	before := decodeObject[exposeModel](c, *attribute)
	m := exposeModel{
		Hosts: encodeList(c, types.StringType, e.Hosts, unconverted), Path: textOrNull(e.Path),
		Protocol: before.Protocol, Annotations: c.encodeMap(e.Annotations),
		IngressClassName: textOrNull(e.IngressClass), TLSSecretName: textOrNull(e.TLSSecret),
		Gateway: types.ObjectNull(gatewayTypes()),
	}
	if e.GRPC {
		m.Protocol = types.StringValue(protocolGRPC)
	}
	if e.Gateway != nil {
		m.Gateway = types.ObjectNull(gatewayTypes())
		c.setObject(&m.Gateway, gatewayModel{Name: types.StringValue(e.Gateway.Name),
			Namespace: textOrNull(e.Gateway.Namespace), SectionName: textOrNull(e.Gateway.SectionName)})
	}
	c.setObject(attribute, m)
}
