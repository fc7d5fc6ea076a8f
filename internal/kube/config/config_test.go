package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolveFindsTheClusterInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	from := func(name string) connection {
		return connection{"https://" + name + ".example.com:6443", name + "-token", name + "-namespace"}
	}
	inCluster := connection{"https://10.96.0.1:443", "pod-token", "pod-namespace"}
	// Each function adds a source to the environment or to the configuration.
	path := func(e testEnv, c *Config) { c.ConfigPaths = []string{e.write("explicit", kubeconfigText("explicit"))} }
	host := func(_ testEnv, c *Config) { c.Host, c.Token = "https://host.example.com:6443", "host-token" }
	variable := func(e testEnv, _ *Config) {
		e.vars["KUBECONFIG"] = e.write("variable", kubeconfigText("variable"))
	}
	home := func(e testEnv, _ *Config) { e.write(".kube/config", kubeconfigText("home")) }
	pod := func(e testEnv, _ *Config) { e.inPod() }

	for name, test := range map[string]struct {
		sources []func(testEnv, *Config)
		want    connection
	}{
		"config_path alone": {[]func(testEnv, *Config){path}, from("explicit")},
		"host alone": {[]func(testEnv, *Config){host},
			connection{"https://host.example.com:6443", "host-token", "default"}},
		"KUBECONFIG alone":       {[]func(testEnv, *Config){variable}, from("variable")},
		"~/.kube/config alone":   {[]func(testEnv, *Config){home}, from("home")},
		"in-cluster files alone": {[]func(testEnv, *Config){pod}, inCluster},
		"config_path before all other sources": {[]func(testEnv, *Config){path, variable, home, pod},
			from("explicit")},
		"host before all other sources": {[]func(testEnv, *Config){host, variable, home, pod},
			connection{"https://host.example.com:6443", "host-token", "default"}},
		"KUBECONFIG before ~/.kube/config":       {[]func(testEnv, *Config){variable, home, pod}, from("variable")},
		"~/.kube/config before in-cluster files": {[]func(testEnv, *Config){home, pod}, from("home")},
		"host and token override config_path": {[]func(testEnv, *Config){path, host},
			connection{"https://host.example.com:6443", "host-token", "explicit-namespace"}},
		"an empty path is ignored": {[]func(testEnv, *Config){
			func(_ testEnv, c *Config) { c.ConfigPaths = []string{""} }, home}, from("home")},
		"an empty file in KUBECONFIG, then in-cluster files": {
			[]func(testEnv, *Config){func(e testEnv, _ *Config) { e.vars["KUBECONFIG"] = os.DevNull }, pod}, inCluster},
		"an empty ~/.kube/config, then in-cluster files": {
			[]func(testEnv, *Config){func(e testEnv, _ *Config) { e.write(".kube/config", "") }, pod}, inCluster},
		"missing files in KUBECONFIG are skipped": {[]func(testEnv, *Config){func(e testEnv, _ *Config) {
			e.vars["KUBECONFIG"] = strings.Join([]string{filepath.Join(e.home, "missing"), "",
				e.write("there", kubeconfigText("there"))}, string(filepath.ListSeparator))
		}}, from("there")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			c := Config{Env: e.env()}
			for _, add := range test.sources {
				add(e, &c)
			}
			got, err := c.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			// client-go reads a token file for each request, and trims the token.
			found := connection{got.REST.Host, strings.TrimSpace(got.REST.BearerToken), got.Namespace}
			if diff := cmp.Diff(test.want, found); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolveReportsAllSourcesIfNoneIsConfigured(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(testEnv, *Config)
		want    []string
	}{
		"no source": {
			func(testEnv, *Config) {},
			[]string{
				"attribute host, KUBE_HOST: not set",
				"attributes config_path and config_paths, KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS: not set",
				"KUBECONFIG: not set", "~/.kube/config: no such file",
				"in-cluster service account: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set",
			},
		},
		"no home directory": {
			func(_ testEnv, c *Config) { c.Env = Env{} },
			[]string{"KUBECONFIG: not set", "~/.kube/config: skipped, because the user has no home directory"},
		},
		"KUBECONFIG with a missing file, and ~/.kube/config": {
			func(e testEnv, _ *Config) {
				e.vars["KUBECONFIG"] = "/missing/config"
				e.write(".kube/config", kubeconfigText("home"))
			},
			[]string{"KUBECONFIG=/missing/config: no such file, or no cluster in it",
				"~/.kube/config: skipped, because KUBECONFIG is set"},
		},
		"a pod without a mounted token": {
			func(e testEnv, _ *Config) {
				e.inPod()
				if err := os.Remove(filepath.Join(e.pod, "token")); err != nil {
					e.t.Fatal(err)
				}
			},
			[]string{"in-cluster service account: cannot read /", "/token"},
		},
		"the variable of client-go's default server": {
			func(e testEnv, _ *Config) { e.vars["KUBERNETES_MASTER"] = "http://localhost:8080" },
			[]string{"no Kubernetes cluster is configured"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			c := Config{Env: e.env()}
			test.prepare(e, &c)
			failure := mustFail(t, c, "", "no Kubernetes cluster is configured; set host or config_path")
			if len(failure.Tried) != 5 {
				t.Errorf("%d sources were tried, want 5: %q", len(failure.Tried), failure.Tried)
			}
			for _, text := range test.want {
				if !strings.Contains(failure.Error(), text) {
					t.Errorf("the error does not contain %q:\n%v", text, failure)
				}
			}
		})
	}
}

func TestResolveLimitsRequestsOnlyIfQPSIsSet(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config Config
		qps    float32
		burst  int
	}{
		"no settings":     {Config{}, -1, 0},
		"only a burst":    {Config{Burst: 10}, -1, 0},
		"QPS and a burst": {Config{QPS: 2.5, Burst: 7}, 2.5, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.config.Host, test.config.UserAgent = "https://h", "terraform-provider-kt/test"
			got, err := test.config.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if got.REST.QPS != test.qps || got.REST.Burst != test.burst {
				t.Errorf("QPS %v and burst %d, want %v and %d", got.REST.QPS, got.REST.Burst, test.qps, test.burst)
			}
			if got.REST.UserAgent != "terraform-provider-kt/test" {
				t.Errorf("user agent %q", got.REST.UserAgent)
			}
		})
	}
}

func TestResolveFindsTheNamespaceInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	kubetorch := func(e testEnv, _ *Config) {
		e.write(".kt/config.yaml", "username: anna\nnamespace: kubetorch-file\n")
	}
	kubeconfig := func(e testEnv, c *Config) { c.ConfigPaths = []string{e.write("config", kubeconfigText("one"))} }
	withoutNamespace := func(e testEnv, c *Config) {
		c.ConfigPaths = []string{e.write("config", strings.Replace(kubeconfigText("one"), ", namespace: one-namespace",
			"", 1))}
	}
	for name, test := range map[string]struct {
		prepare []func(testEnv, *Config)
		want    string
		wantErr string
	}{
		"namespace of the provider block": {[]func(testEnv, *Config){kubetorch, kubeconfig,
			func(_ testEnv, c *Config) { c.Namespace = "configured" }}, "configured", ""},
		"Kubetorch's file before the context": {[]func(testEnv, *Config){kubetorch, kubeconfig}, "kubetorch-file", ""},
		"namespace of the context":            {[]func(testEnv, *Config){kubeconfig}, "one-namespace", ""},
		"Kubetorch's file before the pod": {[]func(testEnv, *Config){kubetorch,
			func(e testEnv, _ *Config) { e.inPod() }}, "kubetorch-file", ""},
		"namespace of the pod": {[]func(testEnv, *Config){func(e testEnv, _ *Config) { e.inPod() }},
			"pod-namespace", ""},
		"default": {[]func(testEnv, *Config){withoutNamespace}, "default", ""},
		"default, if Kubetorch's file has none": {[]func(testEnv, *Config){withoutNamespace,
			func(e testEnv, _ *Config) { e.write(".kt/config.yaml", "username: anna\n") }}, "default", ""},
		"default, if Kubetorch's file is empty": {[]func(testEnv, *Config){withoutNamespace,
			func(e testEnv, _ *Config) { e.write(".kt/config.yaml", "") }}, "default", ""},
		"invalid YAML in Kubetorch's file": {[]func(testEnv, *Config){withoutNamespace,
			func(e testEnv, _ *Config) { e.write(".kt/config.yaml", "namespace: [") }}, "",
			"cannot read ~/.kt/config.yaml: "},
		"a list of namespaces in Kubetorch's file": {[]func(testEnv, *Config){withoutNamespace,
			func(e testEnv, _ *Config) { e.write(".kt/config.yaml", "namespace: [a, b]") }}, "",
			"cannot read ~/.kt/config.yaml: "},
		"an invalid name in Kubetorch's file": {[]func(testEnv, *Config){withoutNamespace,
			func(e testEnv, _ *Config) { e.write(".kt/config.yaml", "namespace: ML_Team") }}, "",
			`~/.kt/config.yaml contains the invalid namespace "ML_Team": `},
		"an invalid name in the context": {[]func(testEnv, *Config){func(e testEnv, c *Config) {
			c.ConfigPaths = []string{e.write("config", strings.Replace(kubeconfigText("one"), "one-namespace", "a/b",
				1))}
		}}, "", `contains the invalid namespace "a/b": `},
		"an invalid file is not read if the provider block sets a namespace": {[]func(testEnv, *Config){kubeconfig,
			func(e testEnv, c *Config) {
				e.write(".kt/config.yaml", "namespace: [")
				c.Namespace = "configured"
			}}, "configured", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			c := Config{Env: e.env()}
			for _, prepare := range test.prepare {
				prepare(e, &c)
			}
			if test.wantErr != "" {
				mustFail(t, c, "namespace", test.wantErr)
				return
			}
			got, err := c.Resolve()
			if err != nil || got.Namespace != test.want {
				t.Errorf("namespace %q, error %v, want %q", got.Namespace, err, test.want)
			}
		})
	}
}
