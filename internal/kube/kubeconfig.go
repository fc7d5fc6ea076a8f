package kube

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	// The user.auth-provider entries of older kubeconfigs: OpenID Connect, and
	// what to use instead of the ones that were removed.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig is what a client is made from, before the configuration's own
// attributes are laid over it. Everything is brought into this form, so that
// they lie over everything in the same way.
type kubeconfig struct {
	raw    *clientcmdapi.Config
	origin string // what messages call it
}

// loadFiles merges files as kubectl does: the first to name something wins.
// Files that are missing are left out.
func loadFiles(files []string) (kubeconfig, error) {
	origin := "kubeconfig " + strings.Join(files, ", ")
	rules := clientcmd.ClientConfigLoadingRules{Precedence: files}
	raw, err := rules.Load()
	if err != nil {
		return kubeconfig{}, fmt.Errorf("%s is not valid: %w", origin, err)
	}
	return kubeconfig{raw: raw, origin: origin}, nil
}

// inCluster is a pod's service account as a kubeconfig. The token is given as
// a file, since a kubelet renews it.
func inCluster(server, dir string) kubeconfig {
	const name = "in-cluster"
	namespace, _ := os.ReadFile(filepath.Join(dir, "namespace")) // optional: the default applies
	raw := clientcmdapi.NewConfig()
	raw.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: filepath.Join(dir, "ca.crt")}
	raw.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(dir, "token")}
	raw.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: strings.TrimSpace(string(namespace))}
	raw.CurrentContext = name
	return kubeconfig{raw: raw, origin: "the in-cluster service account in " + dir}
}

// empty says whether there is no cluster to be found in it.
func (k kubeconfig) empty() bool { return len(k.raw.Clusters) == 0 && len(k.raw.Contexts) == 0 }

// client lays the attributes over a kubeconfig. It also returns the context's
// namespace.
func (c Config) client(k kubeconfig) (*rest.Config, string, error) {
	kubeContext, err := c.choose(k)
	if err != nil {
		return nil, "", err
	}
	if c.identified() {
		// Laid one over the other, two identities would be sent, and the server
		// takes a certificate before a token.
		for name := range k.raw.AuthInfos {
			k.raw.AuthInfos[name] = clientcmdapi.NewAuthInfo()
		}
	}
	overrides, err := c.overrides(kubeContext)
	if err != nil {
		return nil, "", err
	}
	restConfig, err := clientcmd.NewNonInteractiveClientConfig(*k.raw, "", overrides, nil).ClientConfig()
	if err != nil {
		return nil, "", configError("", "%s cannot be used: %w", k.origin, err)
	}
	if c.Insecure != nil {
		restConfig.Insecure = *c.Insecure
	}
	return restConfig, kubeContext.Namespace, nil
}

// choose finds the context, cluster and user to use, and says which ones there
// are where the chosen one is not. client-go would pass over some of this in
// silence, and connect as nobody.
func (c Config) choose(k kubeconfig) (clientcmdapi.Context, error) {
	var chosen clientcmdapi.Context
	if name := cmp.Or(c.ConfigContext, k.raw.CurrentContext); name != "" {
		found, ok := k.raw.Contexts[name]
		if !ok {
			return chosen, configError("config_context", "context %q is not in %s, which has the contexts: %s", name, k.origin, names(k.raw.Contexts))
		}
		chosen = *found
	}
	chosen.Cluster = cmp.Or(c.ConfigContextCluster, chosen.Cluster)
	chosen.AuthInfo = cmp.Or(c.ConfigContextUser, chosen.AuthInfo)
	if err := c.checkCluster(k, chosen.Cluster); err != nil {
		return chosen, err
	}
	if _, ok := k.raw.AuthInfos[chosen.AuthInfo]; chosen.AuthInfo != "" && !ok {
		if !c.identified() || c.ConfigContextUser != "" {
			return chosen, configError("config_context_user", "user %q is not in %s, which has the users: %s", chosen.AuthInfo, k.origin, names(k.raw.AuthInfos))
		}
		chosen.AuthInfo = ""
	}
	if _, ok := k.raw.Clusters[chosen.Cluster]; !ok {
		chosen.Cluster = "" // host stands in for it
	}
	return chosen, nil
}

// checkCluster requires a cluster with a server, unless there is a host.
func (c Config) checkCluster(k kubeconfig, name string) error {
	cluster, ok := k.raw.Clusters[name]
	switch {
	case !ok && c.Host != "" && c.ConfigContextCluster == "":
		return nil
	case name == "" && k.empty():
		return configError("config_path", "%s has no cluster in it", k.origin)
	case name == "":
		return configError("config_context", "%s has no current-context; set config_context (or KUBE_CTX) to one of its contexts: %s", k.origin, names(k.raw.Contexts))
	case !ok:
		return configError("config_context_cluster", "cluster %q is not in %s, which has the clusters: %s", name, k.origin, names(k.raw.Clusters))
	case cluster.Server == "" && c.Host == "":
		return configError("host", "cluster %q of %s has no server: its address is empty, and host is not set", name, k.origin)
	}
	if c.Host == "" {
		if _, err := serverURL(cluster.Server); err != nil {
			return configError("host", "server of cluster %q in %s: %w", name, k.origin, err)
		}
	}
	if c.ProxyURL == "" {
		if err := checkProxy(cluster.ProxyURL); err != nil {
			return configError("proxy_url", "proxy-url of cluster %q in %s: %w", name, k.origin, err)
		}
	}
	return nil
}

// identified says whether the attributes themselves say who the user is.
func (c Config) identified() bool {
	return c.Token != "" || c.ClientCertificate != "" || c.Exec != nil
}

// overrides are the attributes as kubectl's flags.
func (c Config) overrides(kubeContext clientcmdapi.Context) (*clientcmd.ConfigOverrides, error) {
	o := &clientcmd.ConfigOverrides{CurrentContext: c.ConfigContext}
	o.Context.Cluster, o.Context.AuthInfo = kubeContext.Cluster, kubeContext.AuthInfo
	if c.Host != "" {
		server, err := serverURL(c.Host)
		if err != nil {
			return nil, configError("host", "host (or KUBE_HOST): %w", err)
		}
		o.ClusterInfo.Server = server
	}
	o.ClusterInfo.CertificateAuthorityData = bytesOrNil(c.ClusterCACertificate)
	o.ClusterInfo.InsecureSkipTLSVerify = c.Insecure != nil && *c.Insecure
	o.ClusterInfo.TLSServerName = c.TLSServerName
	o.ClusterInfo.ProxyURL = c.ProxyURL
	o.AuthInfo.Token = strings.TrimSpace(c.Token) // as in a file that ends in a line break
	o.AuthInfo.ClientCertificateData = bytesOrNil(c.ClientCertificate)
	o.AuthInfo.ClientKeyData = bytesOrNil(c.ClientKey)
	if c.Exec != nil {
		o.AuthInfo.Exec = c.Exec.clientConfig()
	}
	return o, nil
}

func (e Exec) clientConfig() *clientcmdapi.ExecConfig {
	config := &clientcmdapi.ExecConfig{
		APIVersion: e.APIVersion, Command: e.Command, Args: e.Args,
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode, // Terraform owns the terminal
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		config.Env = append(config.Env, clientcmdapi.ExecEnvVar{Name: name, Value: e.Env[name]})
	}
	return config
}

func bytesOrNil(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

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

// reason is why a file could not be used, without the path again.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

func names[T any](m map[string]*T) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
