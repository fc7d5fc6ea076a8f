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
	from := func(name string) identity {
		return identity{"https://" + name + ".example.com:6443", name + "-token", name + "-namespace"}
	}
	inCluster := identity{"https://10.96.0.1:443", "pod-token", "pod-namespace"}
	// Each source adds itself to the world, or to the configuration.
	path := func(w world, c *Config) { c.ConfigPaths = []string{w.write("explicit", kubeconfigText("explicit"))} }
	host := func(_ world, c *Config) { c.Host, c.Token = "https://host.example.com:6443", "host-token" }
	variable := func(w world, _ *Config) {
		w.vars["KUBECONFIG"] = w.write("variable", kubeconfigText("variable"))
	}
	home := func(w world, _ *Config) { w.write(".kube/config", kubeconfigText("home")) }
	pod := func(w world, _ *Config) { w.inPod() }

	for name, test := range map[string]struct {
		sources []func(world, *Config)
		want    identity
	}{
		"config_path alone": {[]func(world, *Config){path}, from("explicit")},
		"host alone": {[]func(world, *Config){host},
			identity{"https://host.example.com:6443", "host-token", "default"}},
		"KUBECONFIG alone":       {[]func(world, *Config){variable}, from("variable")},
		"~/.kube/config alone":   {[]func(world, *Config){home}, from("home")},
		"in-cluster files alone": {[]func(world, *Config){pod}, inCluster},
		"config_path before all that is around": {[]func(world, *Config){path, variable, home, pod},
			from("explicit")},
		"host before all that is around": {[]func(world, *Config){host, variable, home, pod},
			identity{"https://host.example.com:6443", "host-token", "default"}},
		"KUBECONFIG before ~/.kube/config":       {[]func(world, *Config){variable, home, pod}, from("variable")},
		"~/.kube/config before in-cluster files": {[]func(world, *Config){home, pod}, from("home")},
		"host and token over config_path's": {[]func(world, *Config){path, host},
			identity{"https://host.example.com:6443", "host-token", "explicit-namespace"}},
		"an empty path is no path": {[]func(world, *Config){func(_ world, c *Config) { c.ConfigPaths = []string{""} },
			home}, from("home")},
		"KUBECONFIG without a file, then the pod": {
			[]func(world, *Config){func(w world, _ *Config) { w.vars["KUBECONFIG"] = os.DevNull }, pod}, inCluster},
		"an empty ~/.kube/config, then the pod": {
			[]func(world, *Config){func(w world, _ *Config) { w.write(".kube/config", "") }, pod}, inCluster},
		"missing files in KUBECONFIG are left out": {[]func(world, *Config){func(w world, _ *Config) {
			w.vars["KUBECONFIG"] = strings.Join([]string{filepath.Join(w.home, "missing"), "",
				w.write("there", kubeconfigText("there"))}, string(filepath.ListSeparator))
		}}, from("there")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := Config{Env: w.env()}
			for _, add := range test.sources {
				add(w, &c)
			}
			got, err := c.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			// client-go reads a token file anew, and trims it, with each request.
			found := identity{got.REST.Host, strings.TrimSpace(got.REST.BearerToken), got.Namespace}
			if diff := cmp.Diff(test.want, found); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolveReportsAllSourcesIfNoneIsConfigured(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepare func(world, *Config)
		want    []string
	}{
		"nothing at all": {
			func(world, *Config) {},
			[]string{
				"attribute host, KUBE_HOST: not set",
				"attributes config_path and config_paths, KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS: not set",
				"KUBECONFIG: not set", "~/.kube/config: no such file",
				"in-cluster service account: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set",
			},
		},
		"not even a home": {
			func(_ world, c *Config) { c.Env = Env{} },
			[]string{"KUBECONFIG: not set", "~/.kube/config: skipped, because the user has no home directory"},
		},
		"KUBECONFIG of a missing file hides ~/.kube/config": {
			func(w world, _ *Config) {
				w.vars["KUBECONFIG"] = "/missing/config"
				w.write(".kube/config", kubeconfigText("home"))
			},
			[]string{"KUBECONFIG=/missing/config: no such file, or no cluster in it",
				"~/.kube/config: skipped, because KUBECONFIG is set"},
		},
		"in a pod without a mounted token": {
			func(w world, _ *Config) {
				w.inPod()
				if err := os.Remove(filepath.Join(w.pod, "token")); err != nil {
					w.t.Fatal(err)
				}
			},
			[]string{"in-cluster service account: cannot read /", "/token"},
		},
		"the variables of client-go's own defaults": {
			func(w world, _ *Config) { w.vars["KUBERNETES_MASTER"] = "http://localhost:8080" },
			[]string{"no Kubernetes cluster is configured"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := Config{Env: w.env()}
			test.prepare(w, &c)
			failure := mustFail(t, c, "", "no Kubernetes cluster is configured; set host or config_path")
			if len(failure.Tried) != 5 {
				t.Errorf("%d sources were tried, want 5: %q", len(failure.Tried), failure.Tried)
			}
			for _, text := range test.want {
				if !strings.Contains(failure.Error(), text) {
					t.Errorf("the error does not say %q:\n%v", text, failure)
				}
			}
		})
	}
}

func TestResolveLimitsRequestsOnlyOnDemand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config Config
		qps    float32
		burst  int
	}{
		"not by default": {Config{}, -1, 0},
		"not by a burst": {Config{Burst: 10}, -1, 0},
		"by a rate":      {Config{QPS: 2.5, Burst: 7}, 2.5, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.config.Host, test.config.UserAgent = "https://h", "terraform-provider-kt/test"
			got, err := test.config.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if got.REST.QPS != test.qps || got.REST.Burst != test.burst {
				t.Errorf("%v requests a second and %d at once, want %v and %d", got.REST.QPS, got.REST.Burst, test.qps,
					test.burst)
			}
			if got.REST.UserAgent != "terraform-provider-kt/test" {
				t.Errorf("user agent %q", got.REST.UserAgent)
			}
		})
	}
}

func TestResolveFindsTheNamespaceInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	kubetorch := func(w world, _ *Config) { w.write(".kt/config.yaml", "username: anna\nnamespace: kubetorch-file\n") }
	kubeconfig := func(w world, c *Config) { c.ConfigPaths = []string{w.write("config", kubeconfigText("one"))} }
	bare := func(w world, c *Config) {
		c.ConfigPaths = []string{w.write("config", strings.Replace(kubeconfigText("one"), ", namespace: one-namespace",
			"", 1))}
	}
	for name, test := range map[string]struct {
		prepare []func(world, *Config)
		want    string
		wantErr string
	}{
		"the configuration's own": {[]func(world, *Config){kubetorch, kubeconfig,
			func(_ world, c *Config) { c.Namespace = "own" }}, "own", ""},
		"Kubetorch's file before the context": {[]func(world, *Config){kubetorch, kubeconfig}, "kubetorch-file", ""},
		"the context's":                       {[]func(world, *Config){kubeconfig}, "one-namespace", ""},
		"Kubetorch's file before the pod's": {[]func(world, *Config){kubetorch,
			func(w world, _ *Config) { w.inPod() }}, "kubetorch-file", ""},
		"the pod's": {[]func(world, *Config){func(w world, _ *Config) { w.inPod() }},
			"pod-namespace", ""},
		"default": {[]func(world, *Config){bare}, "default", ""},
		"default, if Kubetorch's file has none": {[]func(world, *Config){bare,
			func(w world, _ *Config) { w.write(".kt/config.yaml", "username: anna\n") }}, "default", ""},
		"default, if Kubetorch's file is empty": {[]func(world, *Config){bare,
			func(w world, _ *Config) { w.write(".kt/config.yaml", "") }}, "default", ""},
		"no invalid file of Kubetorch's": {[]func(world, *Config){bare,
			func(w world, _ *Config) { w.write(".kt/config.yaml", "namespace: [") }}, "",
			"cannot read ~/.kt/config.yaml: "},
		"no list of namespaces": {[]func(world, *Config){bare,
			func(w world, _ *Config) { w.write(".kt/config.yaml", "namespace: [a, b]") }}, "",
			"cannot read ~/.kt/config.yaml: "},
		"no invalid name in Kubetorch's file": {[]func(world, *Config){bare,
			func(w world, _ *Config) { w.write(".kt/config.yaml", "namespace: ML_Team") }}, "",
			`~/.kt/config.yaml contains the invalid namespace "ML_Team": `},
		"no invalid name in the context": {[]func(world, *Config){func(w world, c *Config) {
			c.ConfigPaths = []string{w.write("config", strings.Replace(kubeconfigText("one"), "one-namespace", "a/b",
				1))}
		}}, "", `contains the invalid namespace "a/b": `},
		"an invalid file does not matter to a namespace of one's own": {[]func(world, *Config){kubeconfig,
			func(w world, c *Config) {
				w.write(".kt/config.yaml", "namespace: [")
				c.Namespace = "own"
			}}, "own", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := Config{Env: w.env()}
			for _, prepare := range test.prepare {
				prepare(w, &c)
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
