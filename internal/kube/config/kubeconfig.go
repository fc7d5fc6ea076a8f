package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	// The user.auth-provider entries of older kubeconfigs: OpenID Connect, and the
	// messages about those that were removed.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig is the source of a client, before the attributes of the provider block override it. Every source is
// converted into this form, so that the attributes override all of them in the same way.
type kubeconfig struct {
	raw    *clientcmdapi.Config
	origin string // its name in messages
}

// loadFiles merges files as kubectl does: the first file that sets a value wins. Missing files are skipped.
func loadFiles(files []string) (kubeconfig, error) {
	origin := "kubeconfig " + strings.Join(files, ", ")
	rules := clientcmd.ClientConfigLoadingRules{Precedence: files}
	raw, err := rules.Load()
	if err != nil {
		return kubeconfig{}, fmt.Errorf("%s is not valid: %w", origin, err)
	}
	return kubeconfig{raw: raw, origin: origin}, nil
}

// inCluster returns the service account of a pod as a kubeconfig. It refers to the file of the token, because the
// kubelet renews the token.
func inCluster(server, dir string) kubeconfig {
	const name = "in-cluster"
	namespace, _ := os.ReadFile(filepath.Join(dir, "namespace")) // optional: the default applies
	raw := clientcmdapi.NewConfig()
	raw.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: filepath.Join(dir, "ca.crt")}
	raw.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(dir, "token")}
	raw.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name,
		Namespace: strings.TrimSpace(string(namespace))}
	raw.CurrentContext = name
	return kubeconfig{raw: raw, origin: "the in-cluster service account in " + dir}
}

// empty reports whether it contains neither clusters nor contexts.
func (k kubeconfig) empty() bool { return len(k.raw.Clusters) == 0 && len(k.raw.Contexts) == 0 }

// client applies the attributes to a kubeconfig. It also returns the namespace of the context.
func (c Config) client(k kubeconfig) (*rest.Config, string, error) {
	kubeContext, err := c.choose(k)
	if err != nil {
		return nil, "", err
	}
	if c.hasCredentials() {
		// client-go would send both identities, and the server prefers a certificate to a token. The impersonation is
		// not a credential, and kubectl keeps it: without it, a run could have more permissions than intended.
		for name, user := range k.raw.AuthInfos {
			k.raw.AuthInfos[name] = &clientcmdapi.AuthInfo{
				Impersonate: user.Impersonate, ImpersonateUID: user.ImpersonateUID,
				ImpersonateGroups: user.ImpersonateGroups, ImpersonateUserExtra: user.ImpersonateUserExtra,
			}
		}
	}
	overrides, err := c.overrides(kubeContext)
	if err != nil {
		return nil, "", err
	}
	restConfig, err := clientcmd.NewNonInteractiveClientConfig(*k.raw, "", overrides, nil).ClientConfig()
	if err != nil {
		return nil, "", newError("", "%s cannot be used: %w", k.origin, err)
	}
	if c.Insecure != nil {
		restConfig.Insecure = *c.Insecure
	}
	return restConfig, kubeContext.Namespace, nil
}

// choose selects the context, cluster and user. If one does not exist, the error
// lists those that do: client-go would silently connect as an anonymous user.
func (c Config) choose(k kubeconfig) (clientcmdapi.Context, error) {
	var chosen clientcmdapi.Context
	if name := cmp.Or(c.ConfigContext, k.raw.CurrentContext); name != "" {
		found, ok := k.raw.Contexts[name]
		if !ok {
			return chosen, newError("config_context",
				"context %q is not in %s, which has the contexts: %s", name, k.origin, names(k.raw.Contexts))
		}
		chosen = *found
	}
	chosen.Cluster = cmp.Or(c.ConfigContextCluster, chosen.Cluster)
	chosen.AuthInfo = cmp.Or(c.ConfigContextAuthInfo, chosen.AuthInfo)
	if err := c.checkCluster(k, chosen.Cluster); err != nil {
		return chosen, err
	}
	if _, ok := k.raw.AuthInfos[chosen.AuthInfo]; chosen.AuthInfo != "" && !ok {
		if !c.hasCredentials() || c.ConfigContextAuthInfo != "" {
			return chosen, newError("config_context_auth_info",
				"user %q is not in %s, which has the users: %s", chosen.AuthInfo, k.origin, names(k.raw.AuthInfos))
		}
		chosen.AuthInfo = ""
	}
	if _, ok := k.raw.Clusters[chosen.Cluster]; !ok {
		chosen.Cluster = "" // host replaces it
	}
	return chosen, nil
}

// checkCluster requires a cluster with a server, unless host is set.
func (c Config) checkCluster(k kubeconfig, name string) error {
	cluster, ok := k.raw.Clusters[name]
	switch {
	case !ok && c.Host != "" && c.ConfigContextCluster == "":
		return nil
	case name == "" && k.empty():
		return newError("config_path", "%s contains no cluster", k.origin)
	case name == "":
		return newError("config_context",
			"%s has no current-context; set config_context (or KUBE_CTX) to one of its contexts: %s", k.origin,
			names(k.raw.Contexts))
	case !ok:
		return newError("config_context_cluster",
			"cluster %q is not in %s, which has the clusters: %s", name, k.origin, names(k.raw.Clusters))
	case cluster.Server == "" && c.Host == "":
		return newError("host", "cluster %q of %s has no server address, and host is not set", name, k.origin)
	}
	if c.Host == "" {
		if _, err := serverURL(cluster.Server); err != nil {
			return newError("host", "server of cluster %q in %s: %w", name, k.origin, err)
		}
	}
	if c.ProxyURL == "" {
		if err := checkProxy(cluster.ProxyURL); err != nil {
			return newError("proxy_url", "proxy-url of cluster %q in %s: %w", name, k.origin, err)
		}
	}
	return nil
}

// hasCredentials reports whether the attributes contain credentials.
func (c Config) hasCredentials() bool {
	return c.Token != "" || c.ClientCertificate != "" || c.Exec != nil
}

// overrides converts the attributes into the overrides that kubectl creates from its flags.
func (c Config) overrides(kubeContext clientcmdapi.Context) (*clientcmd.ConfigOverrides, error) {
	o := &clientcmd.ConfigOverrides{CurrentContext: c.ConfigContext}
	o.Context.Cluster, o.Context.AuthInfo = kubeContext.Cluster, kubeContext.AuthInfo
	if c.Host != "" {
		server, err := serverURL(c.Host)
		if err != nil {
			return nil, newError("host", "host (or KUBE_HOST): %w", err)
		}
		o.ClusterInfo.Server = server
	}
	// clientcmd ignores what is empty.
	o.ClusterInfo.CertificateAuthorityData = []byte(c.ClusterCACertificate)
	o.ClusterInfo.InsecureSkipTLSVerify = c.Insecure != nil && *c.Insecure
	o.ClusterInfo.TLSServerName = c.TLSServerName
	o.ClusterInfo.ProxyURL = c.ProxyURL
	o.AuthInfo.Token = strings.TrimSpace(c.Token) // as in a file that ends in a line break
	o.AuthInfo.ClientCertificateData = []byte(c.ClientCertificate)
	o.AuthInfo.ClientKeyData = []byte(c.ClientKey)
	if c.Exec != nil {
		o.AuthInfo.Exec = c.Exec.clientConfig()
	}
	return o, nil
}

func (e Exec) clientConfig() *clientcmdapi.ExecConfig {
	config := &clientcmdapi.ExecConfig{
		APIVersion: e.APIVersion, Command: e.Command, Args: e.Args,
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode, // Terraform uses the terminal
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		config.Env = append(config.Env, clientcmdapi.ExecEnvVar{Name: name, Value: e.Env[name]})
	}
	return config
}

// expandAll replaces "~" at the start of paths with the home directory.
func expandAll(paths []string, home string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = path
		if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
			out[i] = filepath.Join(home, rest)
		}
	}
	return out
}

func nonEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// names lists the keys of a map, for messages.
func names[T any](m map[string]*T) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
