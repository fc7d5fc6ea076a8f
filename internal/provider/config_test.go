package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	frameworkprovider "github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func TestAttributesTakePrecedenceOverVariablesInClusterConfig(t *testing.T) {
	t.Parallel()
	only := func(vars map[string]string, names ...string) map[string]string {
		out := map[string]string{}
		for _, name := range names {
			out[name] = vars[name]
		}
		return out
	}
	all := everyVariable()
	for name, test := range map[string]struct {
		block block
		vars  map[string]string
		want  config.Config
	}{
		"neither": {nil, nil, config.Config{}},
		"all variables": {nil, all, config.Config{
			Host: "kube-host", Token: "kube-token", ConfigPaths: []string{"kube-config-path"},
			ConfigContext:        "kube-ctx",
			ConfigContextCluster: "kube-ctx-cluster", ConfigContextAuthInfo: "kube-ctx-auth-info",
			ClusterCACertificate: "kube-ca",
			ClientCertificate:    "kube-cert", ClientKey: "kube-key", Insecure: new(true),
			TLSServerName: "kube-tls-server-name",
			ProxyURL:      "kube-proxy-url", Namespace: "kt-namespace",
		}},
		"all attributes": {
			block{
				"host": str("host"), "token": str("token"), "config_path": str("path"),
				"config_context":         str("context"),
				"config_context_cluster": str("cluster"), "config_context_auth_info": str("user"),
				"cluster_ca_certificate": str("ca"),
				"client_certificate":     str("cert"), "client_key": str("key"), "insecure": boolean(false),
				"tls_server_name": str("name"),
				"proxy_url":       str("proxy"), "exec": plugin(listOf("get-token"), dict(map[string]string{"A": "1"})),
				"namespace":  str("ns"),
				"client_qps": number(2.5), "client_burst": number(9),
			}, all,
			config.Config{
				Host: "host", Token: "token", ConfigPaths: []string{"path"}, ConfigContext: "context",
				ConfigContextCluster:  "cluster",
				ConfigContextAuthInfo: "user", ClusterCACertificate: "ca", ClientCertificate: "cert", ClientKey: "key",
				Insecure:      new(false),
				TLSServerName: "name", ProxyURL: "proxy", Namespace: "ns", QPS: 2.5, Burst: 9,
				Exec: &config.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "aws",
					Args: []string{"get-token"}, Env: map[string]string{"A": "1"}},
			},
		},
		"empty attributes are ignored": {
			block{"host": str(""), "token": str(""), "config_path": str(""), "config_paths": listOf(),
				"namespace": str("")},
			only(all, "KUBE_HOST", "KUBE_TOKEN", "KUBE_CONFIG_PATH", "KT_NAMESPACE"),
			config.Config{Host: "kube-host", Token: "kube-token", ConfigPaths: []string{"kube-config-path"},
				Namespace: "kt-namespace"},
		},
		"config_path before KUBE_CONFIG_PATHS": {block{"config_path": str("path")}, only(all, "KUBE_CONFIG_PATHS"),
			config.Config{ConfigPaths: []string{"path"}}},
		"config_paths before KUBE_CONFIG_PATH": {block{"config_paths": listOf("a", "b")}, only(all, "KUBE_CONFIG_PATH"),
			config.Config{ConfigPaths: []string{"a", "b"}}},
		"KUBE_CONFIG_PATHS": {nil, only(all, "KUBE_CONFIG_PATHS"),
			config.Config{ConfigPaths: []string{"kube-config-paths", "second"}}},
		"host in the block excludes all kubeconfigs": {
			block{"host": str("host")}, all,
			config.Config{
				Host: "host", Token: "kube-token", ClusterCACertificate: "kube-ca", ClientCertificate: "kube-cert",
				ClientKey: "kube-key",
				Insecure:  new(true), TLSServerName: "kube-tls-server-name", ProxyURL: "kube-proxy-url",
				Namespace: "kt-namespace",
			},
		},
		"config_path in the block defines the server and the user": {
			block{"config_path": str("path")}, all,
			config.Config{
				ConfigPaths: []string{"path"}, ConfigContext: "kube-ctx", ConfigContextCluster: "kube-ctx-cluster",
				ConfigContextAuthInfo: "kube-ctx-auth-info", Insecure: new(true), ProxyURL: "kube-proxy-url",
				Namespace: "kt-namespace",
			},
		},
		"token in the block defines the user": {
			block{"token": str("token")}, only(all, "KUBE_HOST", "KUBE_TOKEN", "KUBE_CLIENT_CERT_DATA",
				"KUBE_CLIENT_KEY_DATA"),
			config.Config{Host: "kube-host", Token: "token"},
		},
		"exec in the block defines the user": {
			block{"exec": plugin(tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, nil),
				tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, nil))},
			only(all, "KUBE_HOST", "KUBE_TOKEN", "KUBE_CLIENT_CERT_DATA", "KUBE_CLIENT_KEY_DATA"),
			config.Config{Host: "kube-host", Exec: &config.Exec{APIVersion: "client.authentication.k8s.io/v1",
				Command: "aws"}},
		},
		"client_certificate in the block, its key from the environment": {
			block{"config_path": str("path"), "client_certificate": str("cert")},
			only(all, "KUBE_TOKEN", "KUBE_CLIENT_CERT_DATA", "KUBE_CLIENT_KEY_DATA"),
			config.Config{ConfigPaths: []string{"path"}, ClientCertificate: "cert", ClientKey: "kube-key"},
		},
		"insecure in the block before an authority of the environment": {
			block{"insecure": boolean(true)}, only(all, "KUBE_HOST", "KUBE_CLUSTER_CA_CERT_DATA"),
			config.Config{Host: "kube-host", Insecure: new(true)},
		},
		"an authority in the block before KUBE_INSECURE": {
			block{"cluster_ca_certificate": str("ca")}, only(all, "KUBE_HOST", "KUBE_INSECURE"),
			config.Config{Host: "kube-host", ClusterCACertificate: "ca"},
		},
		"KUBE_INSECURE is false": {nil, map[string]string{"KUBE_INSECURE": "0"},
			config.Config{Insecure: new(false)}},
		"bursts of twice the rate by default": {block{"client_qps": number(10)}, nil,
			config.Config{QPS: 10, Burst: 20}},
		"bursts of at least one": {block{"client_qps": number(0.2)}, nil,
			config.Config{QPS: 0.2, Burst: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, diags := test.block.model(t).clusterConfig(t.Context(), variables(test.vars), "test")
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			test.want.UserAgent = "terraform-provider-kt/test"
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(config.Config{}, "Env"),
				cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAttributesTakePrecedenceOverVariablesInDefaults(t *testing.T) {
	t.Parallel()
	standard := tf.Defaults{Username: "anna", InstallNamespace: "kubetorch", LaunchTimeout: 15 * time.Minute}
	with := func(change func(*tf.Defaults)) tf.Defaults { d := standard; change(&d); return d }
	for name, test := range map[string]struct {
		block block
		vars  map[string]string
		want  tf.Defaults
	}{
		"only a name": {nil, nil, standard},
		"username before its variable": {
			block{"username": str("otto")}, nil,
			with(func(d *tf.Defaults) { d.Username, d.UsernameChosen = "otto", true }),
		},
		"launch_timeout": {block{"launch_timeout": str("1h30m")}, nil,
			with(func(d *tf.Defaults) { d.LaunchTimeout, d.LaunchTimeoutChosen = 90*time.Minute, true })},
		"launch_timeout before its variable": {block{"launch_timeout": str("20m")},
			map[string]string{"KT_LAUNCH_TIMEOUT": "60"},
			with(func(d *tf.Defaults) { d.LaunchTimeout, d.LaunchTimeoutChosen = 20*time.Minute, true })},
		"KT_LAUNCH_TIMEOUT in seconds": {nil, map[string]string{"KT_LAUNCH_TIMEOUT": "1800"},
			with(func(d *tf.Defaults) { d.LaunchTimeout = 30 * time.Minute })},
		"KT_GPU_ANTI_AFFINITY": {nil, map[string]string{"KT_GPU_ANTI_AFFINITY": "True"},
			with(func(d *tf.Defaults) { d.GPUAntiAffinity = true })},
		"gpu_anti_affinity before its variable": {
			block{"gpu_anti_affinity": boolean(false)}, map[string]string{"KT_GPU_ANTI_AFFINITY": "1"},
			with(func(d *tf.Defaults) { d.GPUAntiAffinityChosen = true }),
		},
		"install_namespace": {block{"install_namespace": str("kt")}, nil,
			with(func(d *tf.Defaults) { d.InstallNamespace, d.InstallNamespaceChosen = "kt", true })},
		"kubetorch_version": {block{"kubetorch_version": str("0.4.9")}, nil,
			with(func(d *tf.Defaults) { d.KubetorchVersion = "0.4.9" })},
		"check_gpus": {block{"check_gpus": boolean(false)}, nil,
			with(func(d *tf.Defaults) { d.IgnoreGPUs = true })},
		"compact_plans": {block{"compact_plans": boolean(true)}, nil,
			with(func(d *tf.Defaults) { d.CompactPlans = true })},
		"default labels and annotations": {
			block{"default_labels": dict(map[string]string{"team": "ml"}),
				"default_annotations": dict(map[string]string{"note": "x y"})}, nil,
			with(func(d *tf.Defaults) {
				d.Labels, d.Annotations = map[string]string{"team": "ml"}, map[string]string{"note": "x y"}
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vars := map[string]string{"KT_USERNAME": "anna"}
			maps.Copy(vars, test.vars)
			data, diags := test.block.configure(t, variables(vars))
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			if data.Unknown || data.Run == nil {
				t.Errorf("unknown %v, run %v", data.Unknown, data.Run)
			}
			if diff := cmp.Diff(test.want, data.Defaults); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOSUserIsNotUsedAsUsername(t *testing.T) {
	t.Parallel()
	data, diags := block{}.configure(t, config.Env{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if data.Defaults.Username != "" || data.Defaults.UsernameChosen {
		t.Errorf("the username is %q, chosen: %v", data.Defaults.Username, data.Defaults.UsernameChosen)
	}
}

func TestConfigureReportsInvalidVariablesAndNames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		block block
		vars  map[string]string
		want  string
	}{
		"KUBE_INSECURE": {nil, map[string]string{"KUBE_INSECURE": "yes"},
			`KUBE_INSECURE is "yes", but must be true or false.`},
		"KT_GPU_ANTI_AFFINITY": {nil, map[string]string{"KT_GPU_ANTI_AFFINITY": "gpu"},
			`KT_GPU_ANTI_AFFINITY is "gpu", but must be true or false.`},
		"KT_LAUNCH_TIMEOUT": {nil, map[string]string{"KT_LAUNCH_TIMEOUT": "soon"},
			`The environment variable KT_LAUNCH_TIMEOUT is "soon", which is not a duration`},
		"a timeout of zero": {nil, map[string]string{"KT_LAUNCH_TIMEOUT": "0"},
			`KT_LAUNCH_TIMEOUT is "0", but must be longer than 0`},
		"KT_NAMESPACE": {nil, map[string]string{"KT_NAMESPACE": "ML_Team"},
			`KT_NAMESPACE is "ML_Team": a lowercase RFC 1123 label`},
		"a name of symbols": {block{"username": str("@@")}, nil,
			`"@@" has no character that is valid in a label value`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := test.block.configure(t, variables(test.vars))
			if len(diags) != 1 || diags.ErrorsCount() != 1 || !strings.Contains(diags[0].Detail(), test.want) {
				t.Errorf("got %v, want one error that contains %q", diags, test.want)
			}
		})
	}
}

func TestNamesOfAccountsAreNormalizedToLabelValues(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"anna":                           "anna",
		"Anna":                           "anna",
		`CORP\Anna.Karenina`:             "anna-karenina",
		"anna.karenina@example.com":      "anna-karenina",
		`CORP\anna@example.com`:          "anna",
		"__anna__":                       "anna",
		"anna (admin)":                   "anna-admin",
		"änna":                           "nna",
		"123":                            "123",
		"":                               "",
		"@example.com":                   "",
		`CORP\`:                          "",
		"陳":                              "",
		strings.Repeat("a", 70):          strings.Repeat("a", 63),
		strings.Repeat("a", 62) + "-bcd": strings.Repeat("a", 62),
		"-" + strings.Repeat("a", 63):    strings.Repeat("a", 63),
	} {
		if got := labelValue(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// A cluster that is created in the same run must not prevent the plan: as long as
// a value is unknown, nothing is read and nothing is rejected.
func TestUnknownValuesDeferTheClusterConfiguration(t *testing.T) {
	t.Parallel()
	unknownString := tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
	for name, b := range map[string]block{
		"host":  {"host": unknownString},
		"token": {"host": str("https://h"), "token": unknownString},
		"an item of a list": {"config_paths": tftypes.NewValue(tftypes.List{ElementType: tftypes.String},
			[]tftypes.Value{str("a"), unknownString})},
		"a value in exec": {"exec": plugin(listOf(), tftypes.NewValue(tftypes.Map{ElementType: tftypes.String},
			map[string]tftypes.Value{"A": unknownString}))},
		"all of exec": {"exec": tftypes.NewValue(execType(), tftypes.UnknownValue)},
		"insecure":    {"insecure": tftypes.NewValue(tftypes.Bool, tftypes.UnknownValue)},
		"default labels": {"default_labels": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String},
			tftypes.UnknownValue)},
		"host and bad variable": {"host": unknownString},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, diags := b.configure(t, variables(map[string]string{"KUBE_INSECURE": "perhaps"}))
			if len(diags) > 0 || !data.Unknown || data.Run != nil {
				t.Errorf("unknown %v, run %v, %v", data.Unknown, data.Run, diags)
			}
		})
	}
}

// Files and servers are read only when a resource requires them.
func TestConfigureReadsNoFilesOrServers(t *testing.T) {
	t.Parallel()
	env := variables(nil)
	env.Home, env.InClusterDir = "/missing/home", "/missing/pod"
	for name, b := range map[string]block{
		"nothing configured": {},
		"a missing file":     {"config_path": str("/missing/config")},
		"a bad host":         {"host": str("ftp://nowhere")},
		"a bad certificate":  {"host": str("https://h"), "cluster_ca_certificate": str("no PEM")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if data, diags := b.configure(t, env); len(diags) > 0 || data.Run == nil {
				t.Errorf("run %v, %v", data.Run, diags)
			}
		})
	}
}

func TestCredentialsAreSensitiveAndEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	var resp frameworkprovider.SchemaResponse
	(&kt{}).Schema(t.Context(), frameworkprovider.SchemaRequest{}, &resp)
	if diags := resp.Schema.ValidateImplementation(t.Context()); diags.HasError() {
		t.Error(diags)
	}
	var sensitive []string
	for name, attribute := range resp.Schema.Attributes {
		if attribute.IsRequired() || !attribute.IsOptional() {
			t.Errorf("%s is not optional", name)
		}
		if attribute.IsSensitive() {
			sensitive = append(sensitive, name)
		}
		if !strings.HasSuffix(attribute.GetMarkdownDescription(), ".") {
			t.Errorf("the description of %s is not a sentence: %q", name, attribute.GetMarkdownDescription())
		}
	}
	slices.Sort(sensitive)
	if diff := cmp.Diff([]string{"client_key", "token"}, sensitive); diff != "" {
		t.Error(diff)
	}
}
