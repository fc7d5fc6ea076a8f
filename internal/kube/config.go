// Package kube is the cluster: how to reach it, server-side apply, reads
// through one shared list and watch a kind, and waiting. It knows nothing of
// Terraform.
package kube

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// DefaultInClusterDir is where a kubelet mounts a pod's service account
// (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/).
const DefaultInClusterDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// dialTimeout bounds one attempt to connect, so that a wrong address is told
// in seconds. client-go's own default is 30 s.
const dialTimeout = 10 * time.Second

// Exec is an exec credential plugin, as in a kubeconfig's user.exec.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string
	Env        map[string]string
}

// Config says how to reach a cluster, in the terms of the provider's
// configuration, where the KUBE_* variables have already filled attributes
// that were not set. Empty fields are unset.
type Config struct {
	Host                 string
	Token                string
	ConfigPaths          []string
	ConfigContext        string
	ConfigContextCluster string
	ConfigContextUser    string
	ClusterCACertificate string // PEM
	ClientCertificate    string // PEM
	ClientKey            string // PEM
	Insecure             bool
	TLSServerName        string
	ProxyURL             string
	Exec                 *Exec

	Namespace string  // namespace of resources that name none
	QPS       float32 // client-side limit in requests a second; 0 is none
	Burst     int     // used with QPS only
	UserAgent string

	// Env is the environment that credentials and namespace are found in.
	Env Env
}

// Env is what is read from outside of the configuration. The zero value finds
// nothing; OSEnv is the process's own.
type Env struct {
	Getenv       func(string) string
	Home         string // folder of .kube and .kt; "" for none
	InClusterDir string // service account files; "" for none
}

// OSEnv returns the environment of this process.
func OSEnv() Env {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return Env{Getenv: os.Getenv, Home: home, InClusterDir: DefaultInClusterDir}
}

func (e Env) get(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// ConfigError says that the configuration names no cluster, or not a usable one.
type ConfigError struct {
	// Attribute is the provider attribute at fault, "" where none is.
	Attribute string
	// Tried lists the sources that were looked at, in order, each with what was found.
	Tried []string
	Err   error
}

func (e *ConfigError) Error() string {
	if len(e.Tried) == 0 {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n  - " + strings.Join(e.Tried, "\n  - ")
}

func (e *ConfigError) Unwrap() error { return e.Err }

// Resolved is a configuration that names a cluster.
type Resolved struct {
	REST      *rest.Config
	Namespace string
}

// Resolve finds the cluster and the namespace. It reads files, and asks no
// server. The order is: explicit attributes and KUBE_* variables, KUBECONFIG, ~/.kube/config, and the files of a pod's
// service account. There is no implicit localhost: where nothing is found, the
// error lists what was tried.
func (c Config) Resolve() (Resolved, error) {
	raw, source, tried, err := c.load()
	if err != nil {
		return Resolved{}, err
	}
	var restConfig *rest.Config
	var contextNamespace string
	if source == sourceInCluster {
		restConfig, contextNamespace, err = c.inCluster()
	} else {
		restConfig, contextNamespace, err = c.fromKubeconfig(raw, tried)
	}
	if err != nil {
		return Resolved{}, err
	}
	if err := checkHost(restConfig.Host); err != nil {
		return Resolved{}, &ConfigError{Attribute: "host", Err: err}
	}
	restConfig.UserAgent = c.UserAgent
	restConfig.QPS, restConfig.Burst = -1, 0 // no limit: the API server's priority and fairness is the limiter
	if c.QPS > 0 {
		restConfig.QPS, restConfig.Burst = c.QPS, c.Burst
	}
	restConfig.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	namespace, err := c.namespace(contextNamespace)
	return Resolved{REST: restConfig, Namespace: namespace}, err
}

type source int

const (
	sourceKubeconfig source = iota
	sourceAttributes
	sourceInCluster
)

// load finds the kubeconfig to start from, empty where the attributes suffice.
func (c Config) load() (*clientcmdapi.Config, source, []string, error) {
	if len(c.ConfigPaths) > 0 {
		raw, err := loadFiles(expandAll(c.ConfigPaths, c.Env.Home), true)
		if err != nil {
			return nil, 0, nil, &ConfigError{Attribute: "config_path", Err: err}
		}
		return raw, sourceKubeconfig, nil, nil
	}
	if c.Host != "" {
		return clientcmdapi.NewConfig(), sourceAttributes, nil, nil
	}
	tried := []string{
		"attribute host or KUBE_HOST: not set",
		"attributes config_path and config_paths, KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS: not set",
	}
	if list := c.Env.get("KUBECONFIG"); list != "" {
		raw, err := loadFiles(filepath.SplitList(list), false)
		if err != nil {
			return nil, 0, nil, &ConfigError{Err: fmt.Errorf("KUBECONFIG: %w", err)}
		}
		if !clientcmdapi.IsConfigEmpty(raw) {
			return raw, sourceKubeconfig, tried, nil
		}
		tried = append(tried, "KUBECONFIG="+list+": no cluster in it")
	} else {
		tried = append(tried, "KUBECONFIG: not set")
	}
	if c.Env.Home != "" {
		file := filepath.Join(c.Env.Home, ".kube", "config")
		raw, err := loadFiles([]string{file}, false)
		if err != nil {
			return nil, 0, nil, &ConfigError{Err: err}
		}
		if !clientcmdapi.IsConfigEmpty(raw) {
			return raw, sourceKubeconfig, tried, nil
		}
		tried = append(tried, "~/.kube/config: not there, or no cluster in it")
	}
	if c.inClusterAvailable() {
		return nil, sourceInCluster, tried, nil
	}
	tried = append(tried, "in-cluster service account: KUBERNETES_SERVICE_HOST or its token file is missing")
	return nil, 0, nil, &ConfigError{
		Tried: tried,
		Err:   errors.New("no Kubernetes cluster is configured: set one of these in the provider block or the environment"),
	}
}

func loadFiles(files []string, mustExist bool) (*clientcmdapi.Config, error) {
	rules := clientcmd.ClientConfigLoadingRules{}
	for _, file := range files {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); mustExist && err != nil {
			return nil, fmt.Errorf("kubeconfig %s cannot be read: %w", file, err)
		}
		rules.Precedence = append(rules.Precedence, file)
	}
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s is not valid: %w", strings.Join(files, ", "), err)
	}
	return raw, nil
}

func (c Config) fromKubeconfig(raw *clientcmdapi.Config, tried []string) (*rest.Config, string, error) {
	overrides := c.overrides()
	contextName := c.ConfigContext
	if contextName == "" {
		contextName = raw.CurrentContext
	}
	if c.ConfigContext != "" {
		if _, ok := raw.Contexts[c.ConfigContext]; !ok {
			return nil, "", &ConfigError{Attribute: "config_context", Err: fmt.Errorf("context %q is not in the kubeconfig; it has %s", c.ConfigContext, names(raw.Contexts))}
		}
	}
	clientConfig := clientcmd.NewNonInteractiveClientConfig(*raw, contextName, overrides, nil)
	restConfig, err := clientConfig.ClientConfig()
	if err != nil {
		return nil, "", &ConfigError{Tried: tried, Err: fmt.Errorf("the provider's configuration does not make a usable client: %w", err)}
	}
	namespace := ""
	if kubeContext, ok := raw.Contexts[contextName]; ok {
		namespace = kubeContext.Namespace
	}
	return restConfig, namespace, nil
}

// overrides lays the explicit attributes over a kubeconfig, as kubectl's flags do.
func (c Config) overrides() *clientcmd.ConfigOverrides {
	o := &clientcmd.ConfigOverrides{CurrentContext: c.ConfigContext}
	o.Context.Cluster, o.Context.AuthInfo = c.ConfigContextCluster, c.ConfigContextUser
	o.ClusterInfo.Server = c.Host
	o.ClusterInfo.CertificateAuthorityData = pem(c.ClusterCACertificate)
	o.ClusterInfo.InsecureSkipTLSVerify = c.Insecure
	o.ClusterInfo.TLSServerName = c.TLSServerName
	o.ClusterInfo.ProxyURL = c.ProxyURL
	o.AuthInfo.Token = c.Token
	o.AuthInfo.ClientCertificateData = pem(c.ClientCertificate)
	o.AuthInfo.ClientKeyData = pem(c.ClientKey)
	if c.Exec != nil {
		exec := &clientcmdapi.ExecConfig{
			APIVersion: c.Exec.APIVersion, Command: c.Exec.Command, Args: c.Exec.Args,
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}
		for name, value := range c.Exec.Env {
			exec.Env = append(exec.Env, clientcmdapi.ExecEnvVar{Name: name, Value: value})
		}
		o.AuthInfo.Exec = exec
	}
	return o
}

func pem(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

func (c Config) inClusterAvailable() bool {
	if c.Env.InClusterDir == "" || c.Env.get("KUBERNETES_SERVICE_HOST") == "" || c.Env.get("KUBERNETES_SERVICE_PORT") == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(c.Env.InClusterDir, "token"))
	return err == nil
}

// inCluster is rest.InClusterConfig with a folder that can be chosen. The
// token is given as a file, since a kubelet renews it.
func (c Config) inCluster() (*rest.Config, string, error) {
	dir := c.Env.InClusterDir
	config := &rest.Config{
		Host:            "https://" + net.JoinHostPort(c.Env.get("KUBERNETES_SERVICE_HOST"), c.Env.get("KUBERNETES_SERVICE_PORT")),
		BearerTokenFile: filepath.Join(dir, "token"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca.crt")},
	}
	token, err := os.ReadFile(config.BearerTokenFile)
	if err != nil {
		return nil, "", &ConfigError{Err: fmt.Errorf("in-cluster service account token: %w", err)}
	}
	config.BearerToken = strings.TrimSpace(string(token))
	namespace, _ := os.ReadFile(filepath.Join(dir, "namespace")) // optional: the default applies
	return config, strings.TrimSpace(string(namespace)), nil
}

// namespace applies the order of the product's reference: provider (with
// KT_NAMESPACE), ~/.kt/config.yaml, the kubeconfig's context or the in-cluster
// file, "default".
func (c Config) namespace(contextNamespace string) (string, error) {
	if c.Namespace != "" {
		return c.Namespace, nil
	}
	if c.Env.Home != "" {
		fromFile, err := kubetorchNamespace(filepath.Join(c.Env.Home, ".kt", "config.yaml"))
		if err != nil || fromFile != "" {
			return fromFile, err
		}
	}
	if contextNamespace != "" {
		return contextNamespace, nil
	}
	return "default", nil
}

// kubetorchNamespace reads `namespace` from Kubetorch's own configuration file.
func kubetorchNamespace(file string) (string, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	var config struct {
		Namespace string `json:"namespace"`
	}
	if err == nil {
		err = yaml.Unmarshal(data, &config)
	}
	if err != nil {
		return "", &ConfigError{Attribute: "namespace", Err: fmt.Errorf("~/.kt/config.yaml cannot be read: %w", err)}
	}
	return config.Namespace, nil
}

func checkHost(host string) error {
	if host == "" {
		return errors.New("the cluster's address is empty: set host, or a kubeconfig whose cluster has a server")
	}
	u, err := url.Parse(host)
	if err == nil && u.Scheme == "" {
		u, err = url.Parse("https://" + host)
	}
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("%q is not an address of an API server; it looks like https://10.0.0.1:6443", host)
	}
	return nil
}

func expandAll(paths []string, home string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = path
		if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" && (rest == "" || rest[0] == '/') {
			out[i] = filepath.Join(home, rest)
		}
	}
	return out
}

func names(contexts map[string]*clientcmdapi.Context) string {
	if len(contexts) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(contexts)), ", ")
}
