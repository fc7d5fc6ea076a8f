package config

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResolveRejectsInvalidSettings(t *testing.T) {
	t.Parallel()
	all := "deployer, ftp, no-cluster, no-server, no-user, one, password, plugin, two"
	file := func(text string) func(testEnv, *Config) {
		return func(e testEnv, c *Config) { c.ConfigPaths = []string{e.write("config", text)} }
	}
	two := func(change func(*Config)) func(testEnv, *Config) {
		return func(e testEnv, c *Config) { file(twoClusters)(e, c); change(c) }
	}
	host := func(host string) func(testEnv, *Config) {
		return func(_ testEnv, c *Config) { c.Host = host }
	}
	for name, test := range map[string]struct {
		prepare   func(testEnv, *Config)
		attribute string
		want      []string
	}{
		"an unknown context": {two(func(c *Config) { c.ConfigContext = "three" }), "config_context",
			[]string{`context "three" is not in kubeconfig `, "which has the contexts: " + all}},
		"an unknown cluster": {two(func(c *Config) { c.ConfigContextCluster = "three" }),
			"config_context_cluster", []string{`cluster "three" is not in`,
				"which has the clusters: ftp, no-server, one, two"}},
		"an unknown user": {two(func(c *Config) { c.ConfigContextAuthInfo = "three" }), "config_context_auth_info",
			[]string{`user "three" is not in`, "which has the users: deployer, one, password, plugin, two"}},
		"an unknown user and a token": {two(func(c *Config) { c.ConfigContextAuthInfo, c.Token = "three", "mine" }),
			"config_context_auth_info", []string{`user "three" is not in`}},
		"a context with a missing cluster": {two(func(c *Config) { c.ConfigContext = "no-cluster" }),
			"config_context_cluster", []string{`cluster "gone" is not in`}},
		"a context with a missing user": {two(func(c *Config) { c.ConfigContext = "no-user" }),
			"config_context_auth_info", []string{`user "gone" is not in`}},
		"a cluster without a server": {two(func(c *Config) { c.ConfigContext = "no-server" }), "host",
			[]string{`cluster "no-server" of kubeconfig`, "has no server"}},
		"a server with an unsupported scheme": {two(func(c *Config) { c.ConfigContext = "ftp" }), "host",
			[]string{`cluster "ftp"`, `"ftp://files.example.com" is not the address of an API server`}},
		"a context without a kubeconfig": {func(e testEnv, c *Config) { c.ConfigContext = "one"; e.inPod() },
			"config_context", []string{`context "one" is not in the in-cluster service account`}},
		"a context, but only a host": {func(_ testEnv, c *Config) { c.ConfigContext, c.Host = "one", "https://one" },
			"config_context", []string{"select from a kubeconfig, but only host is set"}},
		"no current context": {file(strings.Replace(twoClusters, "current-context: one", "", 1)),
			"config_context", []string{"has no current-context; set config_context (or KUBE_CTX) to one of its " +
				"contexts: " + all}},
		"a missing current context": {file(strings.Replace(twoClusters, "current-context: one",
			"current-context: gone", 1)), "config_context", []string{`context "gone" is not in`, all}},
		"an empty kubeconfig": {file(""), "config_path", []string{"kubeconfig ", "contains no cluster"}},
		"invalid YAML": {file("clusters: [{]"), "config_path",
			[]string{"kubeconfig ", "is not valid", "yaml"}},
		"a file without YAML fields": {file("just text"), "config_path", []string{"is not valid"}},
		"a missing file": {func(_ testEnv, c *Config) { c.ConfigPaths = []string{"~/missing"} },
			"config_path", []string{"cannot read kubeconfig ", "/missing: no such file or directory"}},
		"one missing of two files": {func(e testEnv, c *Config) {
			file(twoClusters)(e, c)
			c.ConfigPaths = append(c.ConfigPaths, "/missing/two")
		}, "config_path", []string{"cannot read kubeconfig /missing/two"}},
		"a directory": {func(e testEnv, c *Config) { c.ConfigPaths = []string{e.home} }, "config_path",
			[]string{"is a directory"}},
		"an invalid KUBECONFIG": {func(e testEnv, _ *Config) { e.vars["KUBECONFIG"] = e.write("config", "}{") }, "",
			[]string{"KUBECONFIG: kubeconfig ", "is not valid"}},
		"an invalid ~/.kube/config": {func(e testEnv, _ *Config) { e.write(".kube/config", "}{") }, "",
			[]string{".kube/config is not valid"}},
		"a host without a name": {host("https://"), "host",
			[]string{`"https://" is not the address of an API server, such as https://10.0.0.1:6443`}},
		"a host with an unsupported scheme": {host("ftp://10.0.0.1"), "host", []string{"is not the address"}},
		"a host with spaces":                {host("not a host"), "host", []string{"is not the address"}},
		"a host with an invalid port":       {host("10.0.0.1:api"), "host", []string{"is not the address"}},
		"a host with a user": {host("https://anna:secret@10.0.0.1"), "host",
			[]string{`"https://***@10.0.0.1" is not the address`}},
		"insecure with a CA certificate": {func(_ testEnv, c *Config) {
			c.Host, c.Insecure, c.ClusterCACertificate = "https://h", new(true), newPair(t).certificate
		}, "insecure", []string{"cannot both be set"}},
		"a proxy with an unsupported scheme": {
			func(_ testEnv, c *Config) { c.Host, c.ProxyURL = "https://h", "ssh://proxy" }, "proxy_url",
			[]string{`"ssh://proxy"`, "http, https or socks5"}},
		"a proxy that is not a URL": {func(_ testEnv, c *Config) { c.Host, c.ProxyURL = "https://h", "proxy:3128" },
			"proxy_url", []string{`"proxy:3128"`}},
		"a pod without a CA certificate": {func(e testEnv, _ *Config) {
			e.inPod()
			if err := os.Remove(filepath.Join(e.pod, "ca.crt")); err != nil {
				t.Fatal(err)
			}
		}, "", []string{"the in-cluster service account in ", "ca.crt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			c := Config{Env: e.env()}
			test.prepare(e, &c)
			mustFail(t, c, test.attribute, test.want...)
		})
	}
}

// Errors state why credentials are in the wrong place or format, and never contain them.
func TestResolveNeverShowsCredentials(t *testing.T) {
	t.Parallel()
	const secret = "c2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUtc2hvd24"
	mine, other := newPair(t), newPair(t)
	inKubeconfig := strings.Replace(kubeconfigText("one"), "one-token", secret, 1)
	encoded := base64.StdEncoding.EncodeToString([]byte(mine.key))
	for name, test := range map[string]struct {
		config    Config
		variables map[string]string
		attribute string
		want      string
		secrets   []string
	}{
		"a kubeconfig instead of its path": {Config{ConfigPaths: []string{inKubeconfig}}, nil, "config_path",
			"contains text that is not a path, probably the content of a kubeconfig", nil},
		"an encoded kubeconfig instead of its path": {Config{ConfigPaths: []string{strings.Repeat(secret, 50)}}, nil,
			"config_path", "contains text that is not a path", nil},
		"a kubeconfig in KUBECONFIG": {Config{}, map[string]string{"KUBECONFIG": inKubeconfig}, "",
			"KUBECONFIG contains text that is not a path", nil},
		"a token of two lines": {Config{Host: "https://h", Token: secret + "\n" + secret}, nil, "token",
			"contains white space", nil},
		"a key that is base64": {Config{Host: "https://h", ClientCertificate: mine.certificate,
			ClientKey: encoded}, nil, "client_key", "is base64-encoded PEM: decode it, for example with base64decode",
			[]string{encoded}},
		"a CA certificate that is a path": {Config{Host: "https://h", ClusterCACertificate: "/etc/ca.crt"}, nil,
			"cluster_ca_certificate", `to read a file, use file("…")`, nil},
		"a key that is indented": {Config{Host: "https://h", ClientCertificate: mine.certificate,
			ClientKey: " " + strings.ReplaceAll(mine.key, "\n",
				"\n ")}, nil, "client_key", "at the beginning of a line", nil},
		"a certificate without its key": {Config{Host: "https://h", ClientCertificate: mine.certificate}, nil,
			"client_key", "client_key (or KUBE_CLIENT_KEY_DATA) is not", nil},
		"a key without its certificate": {Config{Host: "https://h", ClientKey: mine.key}, nil,
			"client_certificate", "client_certificate (or KUBE_CLIENT_CERT_DATA) is not", nil},
		"a certificate of another key": {Config{Host: "https://h", ClientCertificate: other.certificate,
			ClientKey: mine.key}, nil, "client_certificate", "private key does not match public key", nil},
		"a password in a host": {Config{Host: "https://anna:" + secret + "@h"}, nil, "host",
			"https://***@h", nil},
		"a password in an invalid host": {Config{Host: "https://anna:" + secret + "@h:port"}, nil, "host",
			"https://***@h", nil},
		"a password in an invalid proxy": {Config{Host: "https://h", ProxyURL: "anna:" + secret + "@proxy"}, nil,
			"proxy_url", `"***@proxy"`, nil},
		"a password with an @ in an invalid proxy": {Config{Host: "https://h",
			ProxyURL: "ssh://anna:" + secret + "@@proxy"}, nil, "proxy_url", `"ssh://***@proxy"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			maps.Copy(e.vars, test.variables)
			test.config.Env = e.env()
			failure := mustFail(t, test.config, test.attribute, test.want)
			for _, secret := range append(test.secrets, secret, strings.Split(mine.key, "\n")[1]) {
				if strings.Contains(failure.Error(), secret) {
					t.Errorf("the error shows a credential:\n%v", failure)
				}
			}
		})
	}
}

func TestResolveNeverShowsTheCredentialsOfAnInvalidKubeconfig(t *testing.T) {
	t.Parallel()
	const secret = "secret-that-must-not-be-shown"
	for name, text := range map[string]string{
		"only the token":                secret,
		"a line with wrong indentation": "users:\n- name: one\n  user:\n    token: " + secret + "\n   token: " + secret,
		"a token instead of a list":     "users: " + secret,
		"a token instead of an object":  "users: [{name: one, user: " + secret + "}]",
		"a key that is not base64":      "users: [{name: one, user: {client-key-data: " + secret + "}}]",
		"two credentials": "current-context: one\nclusters: [{name: one, cluster: {server: " +
			"'https://one'}}]\nusers: [{name: one, user: {token: " + secret + ", username: anna, password: " + secret +
			"}}]\ncontexts: [{name: one, context: {cluster: one, user: one}}]",
		"a password in the proxy": "current-context: one\nclusters: [{name: one, cluster: {server: 'https://one', " +
			"proxy-url: 'ssh://anna:" + secret + "@proxy'}}]\ncontexts: [{name: one, context: {cluster: one}}]",
		"a password in the server": "current-context: one\nclusters: [{name: one, cluster: {server: 'https://anna:" +
			secret + "@one'}}]\ncontexts: [{name: one, context: {cluster: one}}]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			_, err := Config{ConfigPaths: []string{e.write("config", text)}, Env: e.env()}.Resolve()
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows a credential:\n%v", err)
			}
		})
	}
}
