// Package provider is the kt provider: its configuration, and the list of what
// it offers.
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/datasources"
	"github.com/ktdev/terraform-provider-kt/internal/ephemeral/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/resources/compute"
	"github.com/ktdev/terraform-provider-kt/internal/resources/image"
	ktsecret "github.com/ktdev/terraform-provider-kt/internal/resources/secret" // secret makes a sensitive attribute here
	"github.com/ktdev/terraform-provider-kt/internal/resources/volume"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// New returns a constructor of the provider. The shared watches of a
// configured provider end when ctx does. Who serves the provider flushes
// completions when it has served.
func New(ctx context.Context, version string, env config.Env, completions *kube.Completions) func() provider.Provider {
	return NewWith(ctx, version, env, manifest.Revisions(), completions)
}

// NewWith is New with other revisions of what runs in the pods, the newest last.
func NewWith(
	ctx context.Context, version string, env config.Env, revisions []manifest.Revision, completions *kube.Completions,
) func() provider.Provider {
	return func() provider.Provider {
		return &kt{ctx: ctx, version: version, env: env, revisions: revisions, completions: completions}
	}
}

type kt struct {
	ctx     context.Context //nolint:containedctx // the life of the process, which Configure's own context is not
	version string
	env     config.Env

	revisions   []manifest.Revision
	completions *kube.Completions
}

var (
	_ provider.Provider                       = (*kt)(nil)
	_ provider.ProviderWithEphemeralResources = (*kt)(nil)
)

func (p *kt) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "kt"
	resp.Version = p.version
}

func (p *kt) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Provisions ML compute on Kubernetes: GPU services, training pools, autoscaled inference and tensor servers, with their volumes, secrets and images.",
		Attributes: map[string]schema.Attribute{
			"host":                   optional("Address of the Kubernetes API server, such as `https://10.0.0.1:6443`. Without `config_path` beside it, no kubeconfig is read. Environment: `KUBE_HOST`."),
			"token":                  secret("Bearer token of the user or service account. Environment: `KUBE_TOKEN`."),
			"config_path":            optional("Path of a kubeconfig file. Set here, it says what the server and who the user is, whatever the other variables say. Environment: `KUBE_CONFIG_PATH`.", stringvalidator.ConflictsWith(path.MatchRoot("config_paths"))),
			"config_paths":           schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Paths of kubeconfig files, merged as kubectl merges them. Environment: `KUBE_CONFIG_PATHS`, separated as in `PATH`."},
			"config_context":         optional("Context of the kubeconfig to use. Environment: `KUBE_CTX`."),
			"config_context_cluster": optional("Cluster of the kubeconfig to use instead of the context's. Environment: `KUBE_CTX_CLUSTER`."),
			"config_context_user":    optional("User of the kubeconfig to use instead of the context's. Environment: `KUBE_CTX_AUTH_INFO`."),
			"cluster_ca_certificate": optional("PEM certificates of the authority that signed the API server's certificate. Environment: `KUBE_CLUSTER_CA_CERT_DATA`."),
			"client_certificate":     optional("PEM client certificate; it needs `client_key`. Environment: `KUBE_CLIENT_CERT_DATA`."),
			"client_key":             secret("PEM key of the client certificate. Environment: `KUBE_CLIENT_KEY_DATA`."),
			"insecure":               flag("Do not check the API server's certificate. Environment: `KUBE_INSECURE`."),
			"tls_server_name":        optional("Name to expect in the API server's certificate instead of its address. Environment: `KUBE_TLS_SERVER_NAME`."),
			"proxy_url":              optional("Proxy for all requests to the API server. Environment: `KUBE_PROXY_URL`."),
			"exec": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Command that prints credentials, as `user.exec` in a kubeconfig.",
				Attributes: map[string]schema.Attribute{
					"api_version": schema.StringAttribute{Required: true, MarkdownDescription: "`client.authentication.k8s.io/v1` or `/v1beta1`.", Validators: []validator.String{stringvalidator.OneOf("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")}},
					"command":     schema.StringAttribute{Required: true, MarkdownDescription: "The command to run.", Validators: []validator.String{stringvalidator.LengthAtLeast(1)}},
					"args":        schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Its arguments."},
					"env":         schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Environment variables to add."},
				},
			},
			"namespace": optional("Namespace of resources that name none. Environment: `KT_NAMESPACE`; else `namespace` in `~/.kt/config.yaml`, the kubeconfig context's, the pod's own, `default`.", tf.NamespaceName()),
			"username":  optional("Value of the label `kubetorch.com/username`, cleaned to a label value. Default: none. Environment: `KT_USERNAME`, for what is created."),
			"kubetorch_version": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.LabelValue(), stringvalidator.LengthAtLeast(1)},
				MarkdownDescription: "Release of Kubetorch that pods install, such as `0.5.0`. Default: for new computes this provider release's own; computes that exist keep theirs until their pods change anyway. Changing this restarts the pods."},
			"install_namespace": optional("Namespace that Kubetorch is installed in. Default: `kubetorch`. Changing this restarts the pods.", tf.NamespaceName()),
			"launch_timeout":    schema.StringAttribute{Optional: true, CustomType: tf.DurationType{}, MarkdownDescription: "How long the server of a compute may take to start, such as `15m` (the default). Environment: `KT_LAUNCH_TIMEOUT`, in seconds, for what is created. Changing this restarts the pods."},
			"gpu_anti_affinity": flag("Keep computes without GPUs off GPU nodes. Environment: `KT_GPU_ANTI_AFFINITY`, for what is created. Default: false. Changing this restarts the pods."),
			"client_qps":        schema.Float64Attribute{Optional: true, MarkdownDescription: "Limit of requests a second to the API server. Default: none; the server's own priority and fairness is the limiter.", Validators: []validator.Float64{float64validator.AtLeast(0)}},
			"client_burst":      schema.Int64Attribute{Optional: true, MarkdownDescription: "Requests that may exceed `client_qps` for a moment. Default: twice `client_qps`.", Validators: []validator.Int64{int64validator.AtLeast(1), int64validator.AlsoRequires(path.MatchRoot("client_qps"))}},
			"default_labels": schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of every resource, and of the pods of a compute; a resource's own win. Changing this restarts the pods.",
				Validators: tf.Labels()},
			"default_annotations": schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Annotations of every resource, and of the pods of a compute; a resource's own win. Changing this restarts the pods.",
				Validators: []validator.Map{tf.NoNulls(), mapvalidator.KeysAre(tf.LabelKey())}},
			"check_gpus": flag("Warn in the plan when a compute asks for GPUs that no node can ever hold; one list of the nodes a run. Silent where nodes may not be listed, and where nodes are added on demand (`node_autoscaling`). Default: true."),
			"node_autoscaling": flag("Whether the cluster adds nodes on demand, so that pods that no node of today can hold are waited for. " +
				"Default: found out from Karpenter's API, the cluster autoscaler's status, and the events of either. " +
				"Set it to `true` where the autoscaler shows neither, as some managed ones do; with `false`, such pods end an apply sooner."),
			"compact_plans": flag("Leave `manifests` out of the plan of a new resource; it is shown in full from then on. Default: false."),
		},
	}
}

func (p *kt) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	data := &tf.ProviderData{Unknown: !req.Config.Raw.IsFullyKnown(), Revisions: p.revisions}
	resp.ResourceData, resp.DataSourceData, resp.EphemeralResourceData = data, data, data
	if data.Unknown {
		return // the cluster is made in this run: plans stand on the renderer alone
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
	p.completions.Flush(ctx) // of a run before this one in the same process, as under a debugger
	data.Cluster = kube.NewCluster(p.ctx, config).WithCompletions(p.completions)
}

func (p *kt) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{compute.New, volume.New, image.New(), ktsecret.New}
}

func (p *kt) DataSources(context.Context) []func() datasource.DataSource { return datasources.All() }

func (p *kt) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{portforward.New()}
}

func optional(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

func secret(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
}

func flag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}
