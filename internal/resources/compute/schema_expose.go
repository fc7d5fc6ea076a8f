package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// exposeAttribute returns how clients outside of the cluster reach the compute.
func exposeAttribute() schema.Attribute {
	return tf.OptionalObject("Makes the Service reachable from outside of the cluster: with `gateway`, by a route of "+
		"the Gateway API, otherwise by an Ingress. An ingress controller or a Gateway must exist. DNS is not changed.",
		map[string]schema.Attribute{
			"hosts": tf.RequiredTexts("Host names, such as `llm.example.com` or `*.example.com`.",
				listvalidator.UniqueValues(), listvalidator.ValueStringsAre(tf.HostName())),
			"path": tf.OptionalText("Prefix of the paths that are routed, such as `/v1`. Defaults to `/`.",
				tf.URLPath()),
			"protocol": tf.OptionalText("Protocol of the server in the pods, `http` or `grpc` (without TLS). With "+
				"`grpc`, the port of the Service has the `appProtocol` `kubernetes.io/h2c`, and `gateway` uses a "+
				"GRPCRoute. Defaults to `http`.", stringvalidator.OneOf(manifest.ProtocolHTTP, manifest.ProtocolGRPC)),
			"annotations": tf.AnnotationMap("Annotations of the Ingress or the route, such as those that configure " +
				"an ingress controller."),
			"ingress_class_name": tf.OptionalText("Class of the Ingress. Defaults to the default class of the cluster.",
				tf.ObjectName()),
			"tls_secret_name": tf.OptionalText("Secret with the certificate of the Ingress (`tls.crt` and `tls.key`). "+
				"Without it, the Ingress uses HTTP.", tf.ObjectName()),
			"gateway": tf.OptionalObject("Gateway that has the route. Its listeners contain the certificates, and "+
				"must allow routes from the namespace of the compute.", map[string]schema.Attribute{
				"name": tf.RequiredText("Name of the Gateway.", tf.ObjectName()),
				"namespace": tf.OptionalText("Namespace of the Gateway. Defaults to that of the compute.",
					tf.NamespaceName()),
				"section_name": tf.OptionalText("Name of a listener of the Gateway, such as `https`. Defaults to "+
					"all.",
					tf.ObjectName()),
			}),
		})
}
