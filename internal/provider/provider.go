// Package provider implements the kt provider: its configuration, and the lists
// of its resources and data sources.
package provider

import (
	"context"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ktdev/terraform-provider-kt/internal/actions"
	"github.com/ktdev/terraform-provider-kt/internal/datasources"
	"github.com/ktdev/terraform-provider-kt/internal/ephemeral/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/functions"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/resources/compute"
	"github.com/ktdev/terraform-provider-kt/internal/resources/image"
	"github.com/ktdev/terraform-provider-kt/internal/resources/queue"
	ktsecret "github.com/ktdev/terraform-provider-kt/internal/resources/secret" // secret is a function of this package
	"github.com/ktdev/terraform-provider-kt/internal/resources/volume"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// New returns a constructor of the provider. The shared watches of a configured
// provider stop when ctx is cancelled. The caller must flush completions after it
// has served the provider.
func New(ctx context.Context, version string, env config.Env, completions *run.Completions) func() provider.Provider {
	return NewWith(ctx, version, env, manifest.Revisions(), completions)
}

// NewWith returns a constructor with other revisions of the pods, the newest last.
func NewWith(
	ctx context.Context, version string, env config.Env, revisions []manifest.Revision, completions *run.Completions,
) func() provider.Provider {
	return func() provider.Provider {
		return &kt{ctx: ctx, version: version, env: env, revisions: revisions, completions: completions}
	}
}

type kt struct {
	ctx     context.Context //nolint:containedctx // the lifetime of the process, unlike the context of Configure
	version string
	env     config.Env

	revisions   []manifest.Revision
	completions *run.Completions
	data        atomic.Pointer[tf.ProviderData] // nil before the provider is configured
}

var (
	_ provider.Provider                       = (*kt)(nil)
	_ provider.ProviderWithActions            = (*kt)(nil)
	_ provider.ProviderWithEphemeralResources = (*kt)(nil)
	_ provider.ProviderWithFunctions          = (*kt)(nil)
	_ provider.ProviderWithListResources      = (*kt)(nil)
)

func (p *kt) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "kt"
	resp.Version = p.version
}

func (p *kt) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Provisions ML compute on Kubernetes: GPU services, training pools, autoscaled " +
			"inference and tensor servers, with their volumes, secrets and images.",
		Attributes: map[string]schema.Attribute{
			"host": tf.OptionalText("Address of the Kubernetes API server, such as `https://10.0.0.1:6443`. Unless " +
				"`config_path` is also set, no kubeconfig is read. Can be set with the environment variable " +
				"`KUBE_HOST`."),
			"token": tf.OptionalSecret("Bearer token of the user or service account. Can be set with the " +
				"environment variable `KUBE_TOKEN`."),
			"config_path": tf.OptionalText("Path of a kubeconfig file. If the attribute is set, the kubeconfig "+
				"defines the server and the user, regardless of other environment variables. Can be set with the "+
				"environment variable `KUBE_CONFIG_PATH`. Conflicts with `config_paths`.",
				stringvalidator.ConflictsWith(path.MatchRoot("config_paths"))),
			"config_paths": tf.OptionalTexts("Paths of kubeconfig files, which are merged like kubectl merges them. "+
				"Can be set with the environment variable `KUBE_CONFIG_PATHS`, separated as in `PATH`. Conflicts "+
				"with `config_path`.", tf.NoNulls()),
			"config_context": tf.OptionalText("Context of the kubeconfig to use. Can be set with the environment " +
				"variable `KUBE_CTX`."),
			"config_context_cluster": tf.OptionalText("Cluster of the kubeconfig that replaces the cluster of the " +
				"context. Can be set with the environment variable `KUBE_CTX_CLUSTER`."),
			"config_context_auth_info": tf.OptionalText("User of the kubeconfig that replaces the user of the " +
				"context. Can be set with the environment variable `KUBE_CTX_AUTH_INFO`."),
			"cluster_ca_certificate": tf.OptionalText("PEM-encoded certificates of the authority that signed the API " +
				"server's certificate. Can be set with the environment variable `KUBE_CLUSTER_CA_CERT_DATA`."),
			"client_certificate": tf.OptionalText("PEM-encoded client certificate. Requires `client_key`. Can be set " +
				"with the environment variable `KUBE_CLIENT_CERT_DATA`."),
			"client_key": tf.OptionalSecret("PEM-encoded private key of the client certificate. Can be set with " +
				"the environment variable `KUBE_CLIENT_KEY_DATA`."),
			"insecure": tf.OptionalBool("Whether to skip the verification of the API server's certificate. Can " +
				"be set with the environment variable `KUBE_INSECURE`."),
			"tls_server_name": tf.OptionalText("Expected name in the API server's certificate. Defaults to the " +
				"host of its address. Can be set with the environment variable `KUBE_TLS_SERVER_NAME`."),
			"proxy_url": tf.OptionalText("URL of the proxy for all requests to the API server. Can be set " +
				"with the environment variable `KUBE_PROXY_URL`."),
			"exec": tf.OptionalObject("Command that prints credentials, like `user.exec` in a kubeconfig.",
				tf.Attributes{
					"api_version": tf.RequiredText("API version of the credentials: `client.authentication.k8s.io/v1` "+
						"or `client.authentication.k8s.io/v1beta1`.",
						stringvalidator.OneOf("client.authentication.k8s.io/v1",
							"client.authentication.k8s.io/v1beta1")),
					"command": tf.RequiredText("Command to run.", stringvalidator.LengthAtLeast(1)),
					"args":    tf.OptionalTexts("Arguments of the command."),
					"env":     tf.OptionalTextMap("Environment variables to add to the environment of the command."),
				}),
			"namespace": tf.OptionalText("Namespace of resources that do not set one. Can be set with the environment "+
				"variable `KT_NAMESPACE`. Defaults to `namespace` in `~/.kt/config.yaml`, then to the namespace of "+
				"the kubeconfig context, then to `default`. If the provider uses the service account of its pod, the "+
				"namespace of the pod replaces that of the context.", tf.NamespaceName()),
			"username": tf.OptionalText("Value of the label `kubetorch.com/username`, which is normalized to a valid " +
				"label value. Defaults to no label. For new resources, it can be set with the environment " +
				"variable `KT_USERNAME`."),
			"kubetorch_version": tf.OptionalText("Release of Kubetorch that pods install, such as `0.5.0`. For new "+
				"computes, it defaults to the release that this version of the provider supports. Existing computes "+
				"keep their release until another change restarts their pods. Changing this restarts the pods.",
				tf.LabelValue(), stringvalidator.LengthAtLeast(1)),
			"install_namespace": tf.OptionalText("Namespace in which Kubetorch is installed. Defaults to `kubetorch`. "+
				"Changing this restarts the pods.", tf.NamespaceName()),
			"launch_timeout": tf.OptionalDuration("Maximum time for the server of a compute to start. Defaults to " +
				"`15m`. For new resources, it can be set with the environment variable `KT_LAUNCH_TIMEOUT`, in " +
				"seconds. Changing this restarts the pods."),
			"gpu_anti_affinity": tf.OptionalBool("Whether to keep computes without GPUs off GPU nodes. Defaults to " +
				"`false`. For new resources, it can be set with the environment variable `KT_GPU_ANTI_AFFINITY`. " +
				"Changing this restarts the pods."),
			"gpu_type_label": tf.OptionalText("Node label that contains the GPU product, for a `gpu_type` without a "+
				"label. Defaults to `nvidia.com/gpu.product`, which nodes get only after they have started. For "+
				"pools that scale from zero, set the label of the cloud, such as "+
				"`karpenter.k8s.aws/instance-gpu-name`: see "+
				"[GPU types by cloud](guides/gpu-pools.md#gpu-types-by-cloud). Changing this restarts the pods.",
				tf.LabelKey()),
			"client_qps": schema.Float64Attribute{Optional: true, MarkdownDescription: "Maximum number of " +
				"requests per second to the API server. Retries and connections to pods, such as tunnels, do not " +
				"count. Defaults to no limit, because API Priority and Fairness of the server limits requests.",
				Validators: []validator.Float64{float64validator.AtLeast(0)}},
			"client_burst": tf.OptionalInteger("Number of requests that may exceed `client_qps` in a burst. Requires "+
				"`client_qps`. Defaults to twice `client_qps`.", int64validator.AtLeast(1),
				int64validator.AlsoRequires(path.MatchRoot("client_qps"))),
			"default_labels": tf.LabelMap("Labels of all resources and of the pods of computes. The labels of a " +
				"resource take precedence. Changing this restarts the pods."),
			"default_annotations": tf.AnnotationMap("Annotations of all resources and of the pods of computes. The " +
				"annotations of a resource take precedence. Changing this restarts the pods."),
			"check_gpus": tf.OptionalBool("Whether the plan warns about computes that request GPUs that no node can " +
				"ever provide. The nodes are listed once per run. There is no warning without permission to list " +
				"nodes, or if nodes are added on demand (`node_autoscaling`). Defaults to `true`."),
			"node_autoscaling": tf.OptionalBool("Whether the cluster adds nodes on demand. If `true`, an apply waits " +
				"for pods that fit no existing node. If `false`, such pods fail the apply earlier. By default, the " +
				"provider detects this from the API of Karpenter, the status of the cluster autoscaler, and the " +
				"events of both. Set it to `true` if the autoscaler cannot be detected, as with some managed " +
				"autoscalers."),
			"require_masked_logs": tf.OptionalBool("Whether the output of a failing pod (its last message and " +
				"log lines) is shown only if the values of all its Secrets can be masked. This requires permission " +
				"to get them. Otherwise, it is shown, and an error states which values could not be masked. Defaults " +
				"to `false`."),
			"compact_plans": tf.OptionalBool("Whether to omit `manifests` from the plan of a new resource. Later " +
				"plans always contain it. Defaults to `false`."),
		},
	}
}

func (p *kt) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	data := &tf.ProviderData{Unknown: !req.Config.Raw.IsFullyKnown(), Revisions: p.revisions, Images: registry.New()}
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = data, data, data
	resp.ActionData, resp.ListResourceData = data, data
	data.Holds.File = p.env.SharedFile
	defer p.data.Store(data)
	if data.Unknown { // the cluster is created in this run
		if req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
		}
		return // without deferral, plans are rendered without a dry run
	}
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	config, diags := m.clusterConfig(ctx, p.env, p.version)
	resp.Diagnostics.Append(diags...)
	data.Defaults, diags = m.defaults(ctx, p.env)
	resp.Diagnostics.Append(diags...)
	p.completions.Flush(ctx) // from an earlier run of the same process, as under a debugger
	data.Run = run.New(p.ctx, kube.NewCluster(p.ctx, config), p.completions)
}

func (p *kt) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{compute.New, volume.New, image.New, ktsecret.New, queue.New}
}

func (p *kt) DataSources(context.Context) []func() datasource.DataSource { return datasources.All() }

// Actions returns the constructors of the actions.
func (p *kt) Actions(context.Context) []func() action.Action { return actions.All() }

// Functions returns the constructors of the functions.
func (p *kt) Functions(context.Context) []func() function.Function { return functions.All() }

// ListResources returns the constructors of the list resources.
func (p *kt) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{compute.NewLister, volume.NewLister, image.NewLister, ktsecret.NewLister,
		queue.NewLister}
}

func (p *kt) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{portforward.New()}
}
