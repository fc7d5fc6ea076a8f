package portforward

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int32validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

const description = `Opens a tunnel to a compute, a Service or a pod through the API server, like ` + "`kubectl port-forward`" + `, for the duration of the run. Providers and provisioners can use it to reach workloads in the cluster.

Each connection goes to a pod that is ready at that time, so pods may be replaced between connections. Requires permission to create ` + "`pods/portforward`" + `. Ephemeral resources require Terraform 1.10 or OpenTofu 1.11.`

func (p *portForward) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	port := []validator.Int32{int32validator.Between(1, 65535)}
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				Optional: true,
				Validators: []validator.String{
					tf.ServiceName(), stringvalidator.ExactlyOneOf(path.MatchRoot("name"), path.MatchRoot("service"), path.MatchRoot("pod")),
				},
				MarkdownDescription: "Name of a compute. Exactly one of `name`, `service` and `pod` must be set.",
			},
			"service": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ObjectName()}, MarkdownDescription: "Name of a Service. Exactly one of `name`, `service` and `pod` must be set."},
			"pod":     schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ObjectName()}, MarkdownDescription: "Name of a pod. Exactly one of `name`, `service` and `pod` must be set."},
			"namespace": schema.StringAttribute{
				Optional: true, Computed: true, Validators: []validator.String{tf.NamespaceName()},
				MarkdownDescription: "Namespace of the compute, Service or pod. Defaults to the namespace of the " +
					"provider.",
			},
			"uid": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "The `uid` of a `kt_compute` that the same configuration creates. The UID is " +
					"known only after the compute is created, so Terraform opens the tunnel after that. The " +
					"value itself is ignored.",
			},
			"required": schema.BoolAttribute{
				Optional: true,
				MarkdownDescription: "Whether it is an error if no pod is ready when the tunnel opens, including " +
					"during plans. Defaults to `true`. If `false`, it is a warning, so that a suspended or " +
					"failing compute can still be changed, and each connection waits for a pod.",
			},
			"port": schema.Int32Attribute{
				Optional: true, Validators: port,
				MarkdownDescription: "Port of the Service or of the pod. Defaults to the port of the compute, the " +
					"first port of the Service, or the first declared port of the pod.",
			},
			"local_port": schema.Int32Attribute{Optional: true, Computed: true, Validators: port, MarkdownDescription: "Port of `127.0.0.1` to listen on. Defaults to any free port."},
			"host":       schema.StringAttribute{Computed: true, MarkdownDescription: "Local address of the tunnel: `127.0.0.1`."},
			"address":    schema.StringAttribute{Computed: true, MarkdownDescription: "Local end of the tunnel, as `host:port`."},
			"url":        schema.StringAttribute{Computed: true, MarkdownDescription: "Local end of the tunnel, as `http://host:port`."},
		},
	}
}

// backend resolves the target of the tunnel.
func (m *model) backend(ctx context.Context, cluster *kube.Cluster) (portforward.Backend, diag.Diagnostics) {
	var diags diag.Diagnostics
	if m.Namespace.IsNull() {
		namespace, err := cluster.Namespace()
		if err != nil {
			diags.Append(failureAt(path.Root("namespace"), err))
			return portforward.Backend{}, diags
		}
		m.Namespace = types.StringValue(namespace)
	}
	namespace, port := m.Namespace.ValueString(), m.Port.ValueInt32()
	var backend portforward.Backend
	var err error
	switch {
	case !m.Pod.IsNull():
		backend = portforward.Backend{Namespace: namespace, Pod: m.Pod.ValueString(), Port: intstr.FromInt32(port)}
	case !m.Service.IsNull():
		backend, err = portforward.ServiceBackend(ctx, cluster, namespace, m.Service.ValueString(), port)
	default:
		backend, err = computeBackend(ctx, cluster, namespace, m.Name.ValueString(), port)
	}
	if err != nil {
		diags.Append(failureAt(m.at(), err))
	}
	return backend, diags
}

func computeBackend(ctx context.Context, cluster *kube.Cluster, namespace, name string, port int32) (portforward.Backend, error) {
	found, err := endpoint.Of(ctx, cluster, namespace, name)
	switch {
	case err != nil:
		return portforward.Backend{}, err
	case found.Elsewhere:
		return portforward.Backend{}, fmt.Errorf("compute %s is reached at %s (`endpoint.url`), which needs no tunnel", found.ID(), found.URL)
	case port == 0 || port == found.Port:
		return found.Backend, nil
	case found.Service != "":
		return portforward.ServiceBackend(ctx, cluster, namespace, found.Service, port)
	}
	backend := found.Backend
	backend.Port = intstr.FromInt32(port)
	return backend, nil
}
