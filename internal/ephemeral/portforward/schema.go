package portforward

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int32validator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const description = "Opens a tunnel to a compute, a Service or a pod through the API server, like `kubectl " +
	"port-forward`, for the duration of the run. Providers and provisioners can use it to reach workloads in the " +
	"cluster.\n\n" +
	"Each connection goes to a pod that is ready at that time, so pods may be replaced between connections. Requires " +
	"permission to create `pods/portforward`. Ephemeral resources require Terraform 1.10 or OpenTofu 1.11."

func (p *portForward) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	port := []validator.Int32{int32validator.Between(1, 65535)}
	resp.Schema = schema.Schema{MarkdownDescription: description, Attributes: map[string]schema.Attribute{
		"service": tf.OptionalText("Name of a Service, instead of a compute.", tf.ObjectName()),
		"pod":     tf.OptionalText("Name of a pod, instead of a compute.", tf.ObjectName()),
		"uid": tf.OptionalText("The `uid` of a `kt_compute` that the same configuration creates. The UID is known " +
			"only after the compute is created, so Terraform opens the tunnel after that. The value itself is " +
			"ignored."),
		"required": tf.OptionalBool("Whether it is an error if no pod is ready when the tunnel opens, including " +
			"during plans. Defaults to `true`. If `false`, it is a warning, so that a suspended or failing compute " +
			"can still be changed, and each connection waits for a pod."),
		"port": schema.Int32Attribute{
			Optional: true, Validators: port,
			MarkdownDescription: "Port of the Service or of the pod. Defaults to the port of the compute, the " +
				"first port of the Service, or the first declared port of the pod.",
		},
		"local_port": schema.Int32Attribute{
			Optional: true, Computed: true, Validators: port,
			MarkdownDescription: "Port of `127.0.0.1` to listen on. Defaults to any free port.",
		},
		"host":    tf.ComputedString("Local address of the tunnel: `127.0.0.1`."),
		"address": tf.ComputedString("Local end of the tunnel, as `host:port`."),
		"url":     tf.ComputedString("Local end of the tunnel, as `http://host:port`."),
	}}
	for name, attribute := range tf.TargetAttributes(tf.OptionalComputedText, "service", "pod") {
		resp.Schema.Attributes[name] = attribute
	}
}

// backend resolves the target of the tunnel, and returns the path of the attribute that identifies it.
func (m *model) backend(
	ctx context.Context, cluster *kube.Cluster,
) (backend portforward.Backend, at path.Path, diags diag.Diagnostics) {
	if at, diags = m.Resolve(cluster); diags.HasError() {
		return backend, at, diags
	}
	namespace, port := m.Namespace.ValueString(), m.Port.ValueInt32()
	var failed diag.Diagnostic
	switch {
	case !m.Pod.IsNull():
		at = path.Root("pod")
		backend = portforward.Backend{PodSource: kube.PodSource{Namespace: namespace, Pod: m.Pod.ValueString()},
			Port: intstr.FromInt32(port)}
	case !m.Service.IsNull():
		at = path.Root("service")
		var err error
		backend, err = portforward.ServiceBackend(ctx, cluster, namespace, m.Service.ValueString(), port)
		if err != nil {
			failed = tf.Failure(err)
		}
	default:
		backend, failed = computeBackend(ctx, cluster, namespace, m.Name.ValueString(), port)
	}
	if failed != nil {
		diags.Append(diag.WithPath(at, failed))
	}
	return backend, at, diags
}

func computeBackend(
	ctx context.Context, cluster *kube.Cluster, namespace, name string, port int32,
) (portforward.Backend, diag.Diagnostic) {
	found, err := endpoint.Of(ctx, cluster, namespace, name)
	switch {
	case err != nil:
		return portforward.Backend{}, tf.Failure(err)
	case found.Elsewhere:
		return portforward.Backend{}, diag.NewErrorDiagnostic("No tunnel to this compute", fmt.Sprintf("Compute %s is "+
			"reached at %s, by its registration with Kubetorch, and not through its pods.\n\nNext step: Use this "+
			"address, or set `pod` to the name of one of its pods, instead of `name`.", found.ID(), found.URL))
	case port == 0 || port == found.Port:
		return found.Backend, nil
	default:
		return found.BackendAt(port), nil
	}
}
