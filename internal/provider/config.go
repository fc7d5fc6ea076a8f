package provider

import (
	"context"
	"fmt"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// model is the provider block.
type model struct {
	Host                 types.String  `tfsdk:"host"`
	Token                types.String  `tfsdk:"token"`
	ConfigPath           types.String  `tfsdk:"config_path"`
	ConfigPaths          types.List    `tfsdk:"config_paths"`
	ConfigContext        types.String  `tfsdk:"config_context"`
	ConfigContextCluster types.String  `tfsdk:"config_context_cluster"`
	ConfigContextUser    types.String  `tfsdk:"config_context_user"`
	ClusterCACertificate types.String  `tfsdk:"cluster_ca_certificate"`
	ClientCertificate    types.String  `tfsdk:"client_certificate"`
	ClientKey            types.String  `tfsdk:"client_key"`
	Insecure             types.Bool    `tfsdk:"insecure"`
	TLSServerName        types.String  `tfsdk:"tls_server_name"`
	ProxyURL             types.String  `tfsdk:"proxy_url"`
	Exec                 types.Object  `tfsdk:"exec"`
	Namespace            types.String  `tfsdk:"namespace"`
	Username             types.String  `tfsdk:"username"`
	InstallNamespace     types.String  `tfsdk:"install_namespace"`
	LaunchTimeout        tf.Duration   `tfsdk:"launch_timeout"`
	GPUAntiAffinity      types.Bool    `tfsdk:"gpu_anti_affinity"`
	ClientQPS            types.Float64 `tfsdk:"client_qps"`
	ClientBurst          types.Int64   `tfsdk:"client_burst"`
	DefaultLabels        types.Map     `tfsdk:"default_labels"`
	DefaultAnnotations   types.Map     `tfsdk:"default_annotations"`
	CompactPlans         types.Bool    `tfsdk:"compact_plans"`
}

type execModel struct {
	APIVersion types.String      `tfsdk:"api_version"`
	Command    types.String      `tfsdk:"command"`
	Args       []string          `tfsdk:"args"`
	Env        map[string]string `tfsdk:"env"`
}

const (
	defaultInstallNamespace = "kubetorch"
	defaultLaunchTimeout    = 15 * time.Minute
)

// clusterConfig merges the provider block with the KUBE_* variables: an
// attribute wins over its variable.
func (m model) clusterConfig(ctx context.Context, env kube.Env, version string) (kube.Config, diag.Diagnostics) {
	var diags diag.Diagnostics
	or := func(attribute types.String, variable string) string {
		if attribute.ValueString() != "" || variable == "" {
			return attribute.ValueString()
		}
		return env.Getenv(variable)
	}
	config := kube.Config{
		Host:                 or(m.Host, "KUBE_HOST"),
		Token:                or(m.Token, "KUBE_TOKEN"),
		ConfigContext:        or(m.ConfigContext, "KUBE_CTX"),
		ConfigContextCluster: or(m.ConfigContextCluster, "KUBE_CTX_CLUSTER"),
		ConfigContextUser:    or(m.ConfigContextUser, "KUBE_CTX_AUTH_INFO"),
		ClusterCACertificate: or(m.ClusterCACertificate, "KUBE_CLUSTER_CA_CERT_DATA"),
		ClientCertificate:    or(m.ClientCertificate, "KUBE_CLIENT_CERT_DATA"),
		ClientKey:            or(m.ClientKey, "KUBE_CLIENT_KEY_DATA"),
		TLSServerName:        or(m.TLSServerName, "KUBE_TLS_SERVER_NAME"),
		ProxyURL:             or(m.ProxyURL, "KUBE_PROXY_URL"),
		Namespace:            or(m.Namespace, "KT_NAMESPACE"),
		Insecure:             m.Insecure.ValueBool(),
		QPS:                  float32(m.ClientQPS.ValueFloat64()),
		Burst:                int(m.ClientBurst.ValueInt64()),
		UserAgent:            "terraform-provider-kt/" + version,
		Env:                  env,
	}
	if m.Insecure.IsNull() {
		config.Insecure = boolVariable(env, "KUBE_INSECURE", &diags)
	}
	if config.QPS > 0 && config.Burst == 0 {
		config.Burst = max(1, int(2*config.QPS))
	}
	switch {
	case !m.ConfigPaths.IsNull():
		diags.Append(m.ConfigPaths.ElementsAs(ctx, &config.ConfigPaths, false)...)
	case or(m.ConfigPath, "KUBE_CONFIG_PATH") != "":
		config.ConfigPaths = []string{or(m.ConfigPath, "KUBE_CONFIG_PATH")}
	case env.Getenv("KUBE_CONFIG_PATHS") != "":
		config.ConfigPaths = filepath.SplitList(env.Getenv("KUBE_CONFIG_PATHS"))
	}
	if !m.Exec.IsNull() {
		var exec execModel
		diags.Append(tf.Object(ctx, m.Exec, &exec)...)
		config.Exec = &kube.Exec{
			APIVersion: exec.APIVersion.ValueString(), Command: exec.Command.ValueString(), Args: exec.Args, Env: exec.Env,
		}
	}
	return config, diags
}

func boolVariable(env kube.Env, name string, diags *diag.Diagnostics) bool {
	text := env.Getenv(name)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		diags.AddError("Invalid environment variable", fmt.Sprintf("%s is %q; it must be true or false.", name, text))
	}
	return value
}

// defaults is what the provider block says for every resource.
func (m model) defaults(ctx context.Context, env kube.Env) (tf.Defaults, diag.Diagnostics) {
	var diags diag.Diagnostics
	d := tf.Defaults{
		Username:         username(m.Username.ValueString()),
		UsernameChosen:   true,
		InstallNamespace: m.InstallNamespace.ValueString(),
		LaunchTimeout:    defaultLaunchTimeout,
		GPUAntiAffinity:  m.GPUAntiAffinity.ValueBool(),
		CompactPlans:     m.CompactPlans.ValueBool(),
	}
	if d.Username == "" {
		d.Username = username(env.Getenv("KT_USERNAME"))
	}
	if d.Username == "" {
		d.UsernameChosen = false
		if account, err := user.Current(); err == nil {
			d.Username = username(account.Username)
		}
	}
	if d.InstallNamespace == "" {
		d.InstallNamespace = defaultInstallNamespace
	}
	if m.GPUAntiAffinity.IsNull() {
		d.GPUAntiAffinity = boolVariable(env, "KT_GPU_ANTI_AFFINITY", &diags)
	}
	text, source := m.LaunchTimeout.ValueString(), "launch_timeout"
	if text == "" {
		text, source = env.Getenv("KT_LAUNCH_TIMEOUT"), "KT_LAUNCH_TIMEOUT"
	}
	if text != "" {
		timeout, err := manifest.ParseDuration(text)
		if err != nil {
			diags.AddAttributeError(path.Root("launch_timeout"), "Invalid duration", source+": "+err.Error())
		}
		d.LaunchTimeout = timeout
	}
	if !m.DefaultLabels.IsNull() {
		diags.Append(m.DefaultLabels.ElementsAs(ctx, &d.Labels, false)...)
	}
	if !m.DefaultAnnotations.IsNull() {
		diags.Append(m.DefaultAnnotations.ElementsAs(ctx, &d.Annotations, false)...)
	}
	return d, diags
}

// username cleans the name of an account to a label value, as Kubetorch does:
// lower case, and a dash for each run of other characters.
func username(name string) string {
	if _, after, found := strings.Cut(name, `\`); found {
		name = after // DOMAIN\user
	}
	name, _, _ = strings.Cut(name, "@")
	cleaned := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(cleaned[:min(len(cleaned), 63)], "-")
}
