package config

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const twoClusters = `apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: one, cluster: {server: "https://one.example.com", tls-server-name: one, proxy-url: "http://proxy-of-one:3128"}}
- {name: two, cluster: {server: "https://two.example.com", insecure-skip-tls-verify: true}}
- {name: no-server, cluster: {proxy-url: "http://proxy:3128"}}
- {name: ftp, cluster: {server: "ftp://files.example.com"}}
users:
- {name: one, user: {token: one-token}}
- {name: two, user: {token: two-token}}
- {name: password, user: {username: anna, password: anna-password}}
- {name: deployer, user: {token: one-token, as: deployer, as-uid: u1, as-groups: [ci], as-user-extra: {team: [ml]}}}
- {name: plugin, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/plugin-of-file,
  interactiveMode: Never}}}
contexts:
- {name: one, context: {cluster: one, user: one, namespace: namespace-one}}
- {name: two, context: {cluster: two, user: two}}
- {name: password, context: {cluster: one, user: password}}
- {name: deployer, context: {cluster: one, user: deployer, namespace: namespace-one}}
- {name: plugin, context: {cluster: one, user: plugin}}
- {name: no-server, context: {cluster: no-server, user: one}}
- {name: ftp, context: {cluster: ftp, user: one}}
- {name: no-cluster, context: {cluster: gone, user: one}}
- {name: no-user, context: {cluster: one, user: gone}}
`

// client contains the fields of a rest.Config that the attributes determine.
type client struct {
	Host, Token, Username, Exec string
	ServerName, Proxy           string
	Insecure                    bool
	CA, Certificate, Key        string
	Namespace                   string
	As                          rest.ImpersonationConfig
}

func clientOf(t *testing.T, r Resolved) client {
	t.Helper()
	c := client{
		Host: r.REST.Host, Token: r.REST.BearerToken, Username: r.REST.Username,
		ServerName: r.REST.ServerName, Insecure: r.REST.Insecure,
		CA: string(r.REST.CAData), Certificate: string(r.REST.CertData), Key: string(r.REST.KeyData),
		Namespace: r.Namespace, As: r.REST.Impersonate,
	}
	if r.REST.ExecProvider != nil {
		c.Exec = r.REST.ExecProvider.Command
	}
	if r.REST.Proxy != nil {
		proxy, err := r.REST.Proxy(&http.Request{})
		if err != nil {
			t.Fatal(err)
		}
		c.Proxy = proxy.String()
	}
	return c
}

func TestAttributesOverrideTheKubeconfig(t *testing.T) {
	t.Parallel()
	pair := newPair(t)
	one := client{
		Host: "https://one.example.com", Token: "one-token", ServerName: "one",
		Proxy: "http://proxy-of-one:3128", Namespace: "namespace-one",
	}
	deployer := rest.ImpersonationConfig{UserName: "deployer", UID: "u1", Groups: []string{"ci"},
		Extra: map[string][]string{"team": {"ml"}}}
	with := func(base client, change func(*client)) client { change(&base); return base }
	for name, test := range map[string]struct {
		config Config
		want   client
	}{
		"the current context": {Config{}, one},
		"another context": {
			Config{ConfigContext: "two"},
			client{Host: "https://two.example.com", Token: "two-token", Insecure: true, Namespace: "default"},
		},
		"another cluster": {
			Config{ConfigContextCluster: "two"},
			client{Host: "https://two.example.com", Token: "one-token", Insecure: true, Namespace: "namespace-one"},
		},
		"another user": {Config{ConfigContextAuthInfo: "two"},
			with(one, func(c *client) { c.Token = "two-token" })},
		"a host, which resets the server name": {Config{Host: "https://mine.example.com"},
			with(one, func(c *client) { c.Host, c.ServerName = "https://mine.example.com", "" })},
		"a host without a scheme": {Config{Host: "10.0.0.1:6443"},
			with(one, func(c *client) { c.Host, c.ServerName = "https://10.0.0.1:6443", "" })},
		"a host instead of a missing cluster": {Config{Host: "https://mine.example.com", ConfigContext: "no-cluster"},
			client{Host: "https://mine.example.com", Token: "one-token", Namespace: "default"}},
		"a token":                   {Config{Token: "mine"}, with(one, func(c *client) { c.Token = "mine" })},
		"a token with a line break": {Config{Token: "mine\n"}, with(one, func(c *client) { c.Token = "mine" })},
		"a token instead of a password": {Config{ConfigContext: "password", Token: "mine"},
			with(one, func(c *client) { c.Token, c.Namespace = "mine", "default" })},
		"a token instead of a plugin": {Config{ConfigContext: "plugin", Token: "mine"},
			with(one, func(c *client) { c.Token, c.Namespace = "mine", "default" })},
		"a token instead of a missing user": {Config{ConfigContext: "no-user", Token: "mine"},
			with(one, func(c *client) { c.Token, c.Namespace = "mine", "default" })},
		"a certificate instead of a token": {
			Config{ClientCertificate: pair.certificate, ClientKey: pair.key},
			with(one, func(c *client) { c.Token, c.Certificate, c.Key = "", pair.certificate, pair.key }),
		},
		"a plugin instead of a token": {
			Config{Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "/bin/plugin"}},
			with(one, func(c *client) { c.Token, c.Exec = "", "/bin/plugin" }),
		},
		"the plugin of the kubeconfig": {Config{ConfigContext: "plugin"},
			with(one, func(c *client) { c.Token, c.Exec, c.Namespace = "", "/bin/plugin-of-file", "default" })},
		"the impersonation of the kubeconfig": {Config{ConfigContext: "deployer"},
			with(one, func(c *client) { c.As = deployer })},
		"a token, with the impersonation of the kubeconfig": {Config{ConfigContext: "deployer", Token: "mine"},
			with(one, func(c *client) { c.Token, c.As = "mine", deployer })},
		"a CA certificate instead of insecure": {Config{ConfigContext: "two", ClusterCACertificate: pair.certificate},
			client{Host: "https://two.example.com", Token: "two-token", CA: pair.certificate, Namespace: "default"}},
		"insecure": {Config{Insecure: new(true)}, with(one, func(c *client) { c.Insecure = true })},
		"insecure = false": {Config{ConfigContext: "two", Insecure: new(false)},
			client{Host: "https://two.example.com", Token: "two-token", Namespace: "default"}},
		"a server name": {Config{TLSServerName: "kubernetes"},
			with(one, func(c *client) { c.ServerName = "kubernetes" })},
		"a proxy": {Config{ProxyURL: "socks5://other:1080"},
			with(one, func(c *client) { c.Proxy = "socks5://other:1080" })},
		"a namespace": {Config{Namespace: "mine"}, with(one, func(c *client) { c.Namespace = "mine" })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			test.config.Env = e.env()
			test.config.ConfigPaths = []string{e.write("config", twoClusters)}
			got, err := test.config.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, clientOf(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAttributesOverrideTheServiceAccount(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.inPod()
	plain, err := Config{Env: e.env()}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if plain.REST.BearerTokenFile != filepath.Join(e.pod, "token") ||
		plain.REST.CAFile != filepath.Join(e.pod, "ca.crt") {
		t.Errorf("token file %q and CA file %q are not the pod's", plain.REST.BearerTokenFile, plain.REST.CAFile)
	}
	mine, err := Config{Env: e.env(), Token: "mine", ProxyURL: "http://proxy:3128", TLSServerName: "kubernetes",
		Insecure: new(true)}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := client{
		Host: "https://10.96.0.1:443", Token: "mine", ServerName: "kubernetes", Proxy: "http://proxy:3128",
		Insecure: true, Namespace: "pod-namespace",
	}
	if diff := cmp.Diff(want, clientOf(t, mine)); diff != "" || mine.REST.BearerTokenFile != "" ||
		mine.REST.CAFile != "" {
		t.Errorf("token file %q, CA file %q\n%s", mine.REST.BearerTokenFile, mine.REST.CAFile, diff)
	}
}

func TestResolveMergesConfigPaths(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	first := e.write("first", "current-context: both\ncontexts: [{name: both, context: {cluster: second, user: "+
		"shared}}]\nusers: [{name: shared, user: {token: of-first}}]\n")
	second := e.write("second", strings.Replace(kubeconfigText("second"), "users: [",
		"users: [{name: shared, user: {token: of-second}}, ", 1))
	for name, test := range map[string]struct {
		paths []string
		want  connection
	}{
		"the first file takes precedence": {[]string{first, second},
			connection{"https://second.example.com:6443", "of-first", "default"}},
		"the files in the other order": {[]string{second, first},
			connection{"https://second.example.com:6443", "second-token", "second-namespace"}},
		"paths in the home directory": {[]string{"~/first", "~/second"},
			connection{"https://second.example.com:6443", "of-first", "default"}},
		"empty paths are ignored": {[]string{"", second, ""},
			connection{"https://second.example.com:6443", "second-token", "second-namespace"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Config{ConfigPaths: test.paths, Env: e.env()}.Resolve()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, connection{got.REST.Host, got.REST.BearerToken, got.Namespace}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolvePassesTheExecPlugin(t *testing.T) {
	t.Parallel()
	got, err := Config{
		Host: "https://h", Env: newTestEnv(t).env(),
		Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1beta1", Command: "aws",
			Args: []string{"eks", "get-token"}, Env: map[string]string{"B": "2", "A": "1"}},
	}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1beta1", Command: "aws", Args: []string{"eks", "get-token"},
		Env:             []clientcmdapi.ExecEnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode, StdinUnavailable: true,
	}
	if diff := cmp.Diff(want.String(), got.REST.ExecProvider.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Env, got.REST.ExecProvider.Env); diff != "" {
		t.Error(diff)
	}
}

func TestTildeIsExpandedOnlyToTheHomeDirectoryOfTheUser(t *testing.T) {
	t.Parallel()
	got := expandAll([]string{"~", "~/x", "~anna/x", "/x/~", "x"}, "/home/otto")
	if diff := cmp.Diff([]string{"/home/otto", "/home/otto/x", "~anna/x", "/x/~", "x"}, got); diff != "" {
		t.Error(diff)
	}
	if got := expandAll([]string{"~/x"}, ""); got[0] != "~/x" {
		t.Errorf("without a home directory, ~/x is expanded to %s", got[0])
	}
}
