package provider

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// model is the provider block.
type model struct {
	Host                  types.String  `tfsdk:"host"`
	Token                 types.String  `tfsdk:"token"`
	ConfigPath            types.String  `tfsdk:"config_path"`
	ConfigPaths           types.List    `tfsdk:"config_paths"`
	ConfigContext         types.String  `tfsdk:"config_context"`
	ConfigContextCluster  types.String  `tfsdk:"config_context_cluster"`
	ConfigContextAuthInfo types.String  `tfsdk:"config_context_auth_info"`
	ClusterCACertificate  types.String  `tfsdk:"cluster_ca_certificate"`
	ClientCertificate     types.String  `tfsdk:"client_certificate"`
	ClientKey             types.String  `tfsdk:"client_key"`
	Insecure              types.Bool    `tfsdk:"insecure"`
	TLSServerName         types.String  `tfsdk:"tls_server_name"`
	ProxyURL              types.String  `tfsdk:"proxy_url"`
	Exec                  types.Object  `tfsdk:"exec"`
	Namespace             types.String  `tfsdk:"namespace"`
	Username              types.String  `tfsdk:"username"`
	KubetorchVersion      types.String  `tfsdk:"kubetorch_version"`
	InstallNamespace      types.String  `tfsdk:"install_namespace"`
	LaunchTimeout         tf.Duration   `tfsdk:"launch_timeout"`
	GPUAntiAffinity       types.Bool    `tfsdk:"gpu_anti_affinity"`
	GPUTypeLabel          types.String  `tfsdk:"gpu_type_label"`
	ClientQPS             types.Float64 `tfsdk:"client_qps"`
	ClientBurst           types.Int64   `tfsdk:"client_burst"`
	DefaultLabels         types.Map     `tfsdk:"default_labels"`
	DefaultAnnotations    types.Map     `tfsdk:"default_annotations"`
	CompactPlans          types.Bool    `tfsdk:"compact_plans"`
	CheckGPUs             types.Bool    `tfsdk:"check_gpus"`
	NodeAutoscaling       types.Bool    `tfsdk:"node_autoscaling"`
	RequireMaskedLogs     types.Bool    `tfsdk:"require_masked_logs"`
}

// clusterConfig merges the provider block with the KUBE_* variables. An
// attribute takes precedence over its variable. Some attributes of the block
// also take precedence over other variables:
//   - host: no kubeconfig of the environment is read, because it may describe
//     another cluster.
//   - config_path or config_paths: the kubeconfig defines the server and the
//     user. Only variables that select from it or configure the connection apply
//     (KUBE_CTX…, KUBE_INSECURE, KUBE_PROXY_URL).
//   - token, client_certificate or exec: no credentials of the environment are
//     used.
func (m model) clusterConfig(ctx context.Context, env config.Env, version string) (config.Config, diag.Diagnostics) {
	c := tf.NewConverter(ctx)
	cfg := config.Config{
		QPS: float32(m.ClientQPS.ValueFloat64()), Burst: int(m.ClientBurst.ValueInt64()),
		UserAgent: "terraform-provider-kt/" + version, Env: env,
	}
	c.DecodeModel(&m, &cfg)
	diags := c.Diags
	byFile := m.ConfigPath.ValueString() != "" || len(cfg.ConfigPaths) > 0
	byHost := cfg.Host != "" && !byFile
	byToken := cfg.Token != "" || cfg.Exec != nil
	byCertificate := cfg.ClientCertificate != "" || cfg.ClientKey != ""

	or := func(field *string, variable string, counts bool) {
		if *field == "" && counts {
			*field = env.Get(variable)
		}
	}
	or(&cfg.Host, "KUBE_HOST", !byFile)
	or(&cfg.Token, "KUBE_TOKEN", !byFile && !byToken && !byCertificate)
	or(&cfg.ConfigContext, "KUBE_CTX", !byHost)
	or(&cfg.ConfigContextCluster, "KUBE_CTX_CLUSTER", !byHost)
	or(&cfg.ConfigContextAuthInfo, "KUBE_CTX_AUTH_INFO", !byHost)
	or(&cfg.ClusterCACertificate, "KUBE_CLUSTER_CA_CERT_DATA", !byFile && !m.Insecure.ValueBool())
	or(&cfg.ClientCertificate, "KUBE_CLIENT_CERT_DATA", !byFile && !byToken)
	or(&cfg.ClientKey, "KUBE_CLIENT_KEY_DATA", !byToken && (byCertificate || !byFile))
	or(&cfg.TLSServerName, "KUBE_TLS_SERVER_NAME", !byFile)
	or(&cfg.ProxyURL, "KUBE_PROXY_URL", true)
	if len(cfg.ConfigPaths) == 0 {
		cfg.ConfigPaths = configPaths(m.ConfigPath.ValueString(), env, byHost)
	}
	if m.Insecure.IsNull() && m.ClusterCACertificate.ValueString() == "" {
		cfg.Insecure = boolVariable(env, "KUBE_INSECURE", &diags)
	}
	if cfg.Namespace == "" {
		cfg.Namespace = namespaceVariable(env, &diags)
	}
	if cfg.QPS > 0 && cfg.Burst == 0 {
		cfg.Burst = max(1, int(2*cfg.QPS))
	}
	return cfg, diags
}

// configPaths returns the kubeconfig files if config_paths is not set.
func configPaths(attribute string, env config.Env, byHost bool) []string {
	switch {
	case attribute != "":
		return []string{attribute}
	case byHost:
		return nil
	case env.Get("KUBE_CONFIG_PATH") != "":
		return []string{env.Get("KUBE_CONFIG_PATH")}
	default:
		return filepath.SplitList(env.Get("KUBE_CONFIG_PATHS"))
	}
}

// namespaceVariable returns the value of KT_NAMESPACE, after validating it.
func namespaceVariable(env config.Env, diags *diag.Diagnostics) string {
	name := env.Get("KT_NAMESPACE")
	if broken := validation.IsDNS1123Label(name); name != "" && len(broken) > 0 {
		diags.AddError("Invalid environment variable", fmt.Sprintf("KT_NAMESPACE is %q: %s.", name,
			strings.Join(broken, "; ")))
	}
	return name
}

// boolVariable returns the value of a variable, or nil if it is not set.
func boolVariable(env config.Env, name string, diags *diag.Diagnostics) *bool {
	text := env.Get(name)
	if text == "" {
		return nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		diags.AddError("Invalid environment variable", fmt.Sprintf("%s is %q, but must be true or false.", name, text))
		return nil
	}
	return &value
}

// defaults returns the settings of the provider block that apply to all resources.
func (m model) defaults(ctx context.Context, env config.Env) (tf.Defaults, diag.Diagnostics) {
	var diags diag.Diagnostics
	d := tf.Defaults{
		InstallNamespace: cmp.Or(m.InstallNamespace.ValueString(), manifest.DefaultInstallNamespace),
		LaunchTimeout:    m.launchTimeout(env, &diags),
		GPUAntiAffinity:  m.GPUAntiAffinity.ValueBool(),
		GPUTypeLabel:     m.GPUTypeLabel.ValueString(),
		CompactPlans:     m.CompactPlans.ValueBool(),
		IgnoreGPUs:       !m.CheckGPUs.IsNull() && !m.CheckGPUs.ValueBool(),
		KubetorchVersion: m.KubetorchVersion.ValueString(),

		InstallNamespaceChosen: m.InstallNamespace.ValueString() != "",
		LaunchTimeoutChosen:    m.LaunchTimeout.ValueString() != "",
		GPUAntiAffinityChosen:  !m.GPUAntiAffinity.IsNull(),
	}
	d.Username, d.UsernameChosen = m.username(env, &diags)
	if m.GPUAntiAffinity.IsNull() {
		wanted := boolVariable(env, "KT_GPU_ANTI_AFFINITY", &diags)
		d.GPUAntiAffinity = wanted != nil && *wanted
	}
	c := tf.NewConverter(ctx)
	c.Decode(path.Root("default_labels"), m.DefaultLabels, &d.Labels)
	c.Decode(path.Root("default_annotations"), m.DefaultAnnotations, &d.Annotations)
	return d, append(diags, c.Diags...)
}

func (m model) launchTimeout(env config.Env, diags *diag.Diagnostics) time.Duration {
	text, source := m.LaunchTimeout.ValueString(), "launch_timeout"
	if text == "" {
		text, source = env.Get("KT_LAUNCH_TIMEOUT"), "The environment variable KT_LAUNCH_TIMEOUT"
	}
	if text == "" {
		return manifest.DefaultLaunchTimeout
	}
	timeout, err := manifest.ParseDuration(text)
	if err == nil && timeout <= 0 {
		err = fmt.Errorf("is %q, but must be longer than 0", text)
	}
	if err != nil {
		diags.AddAttributeError(path.Root("launch_timeout"), "Invalid duration", source+" "+err.Error())
	}
	return timeout
}

// username returns the normalized name, or "" if there is none, and whether the
// provider block sets it. The name of the OS user is not used, because plans
// would then differ between users and pipelines.
func (m model) username(env config.Env, diags *diag.Diagnostics) (name string, chosen bool) {
	if text := m.Username.ValueString(); text != "" {
		name := labelValue(text)
		if name == "" {
			diags.AddAttributeError(path.Root("username"), "Invalid username", fmt.Sprintf("%q has no character "+
				"that is valid in a label value. Label values consist of letters, digits and dashes.", text))
		}
		return name, true
	}
	return labelValue(env.Get("KT_USERNAME")), false
}

// labelValue normalizes the name of an account like Kubetorch does: it converts
// the name to lower case, and replaces each run of other characters by a dash.
func labelValue(name string) string {
	if _, after, found := strings.Cut(name, `\`); found {
		name = after // DOMAIN\user
	}
	name, _, _ = strings.Cut(name, "@")
	cleaned := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-")
	cleaned = strings.TrimLeft(cleaned, "-")
	return strings.TrimRight(cleaned[:min(len(cleaned), validation.LabelValueMaxLength)], "-")
}
