// Package config resolves how to connect to a cluster: from the provider block,
// from kubeconfig files, or from the service account of a pod.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

// DefaultInClusterDir is where a kubelet mounts a pod's service account
// (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/).
const DefaultInClusterDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// DialTimeout limits one attempt to connect, so that a wrong address is reported
// within seconds. The default of client-go is 30 s.
const DialTimeout = 10 * time.Second

// Exec is an exec credential plugin, as in a kubeconfig's user.exec.
type Exec struct {
	APIVersion string
	Command    string
	Args       []string
	Env        map[string]string
}

// Config describes how to connect to a cluster, in the terms of the provider block. The KUBE_* variables have already
// been applied to attributes that were not set. Empty fields are unset.
type Config struct {
	Host                  string // URL; https if it has no scheme
	Token                 string
	ConfigPaths           []string // kubeconfig files; "~" stands for Env.Home
	ConfigContext         string
	ConfigContextCluster  string
	ConfigContextAuthInfo string
	ClusterCACertificate  string // PEM
	ClientCertificate     string // PEM
	ClientKey             string // PEM
	Insecure              *bool  // nil for the setting of the kubeconfig
	TLSServerName         string
	ProxyURL              string
	Exec                  *Exec

	Namespace string  // namespace of resources that set none
	QPS       float32 // client-side limit in requests per second; 0 for no limit
	Burst     int     // requests at once; used only with QPS
	UserAgent string

	// NodeAutoscaling reports whether nodes are added on demand; nil to detect it.
	NodeAutoscaling *bool
	// RequireMaskedLogs reports whether the log of a failing pod is shown only if all values of its Secrets are masked.
	RequireMaskedLogs bool

	// Env is the environment from which credentials and the namespace are read.
	Env Env
}

// Env is the environment outside of the configuration. The zero value is empty. [OSEnv] returns that of the process.
type Env struct {
	Getenv       func(string) string
	Home         string // directory of .kube and .kt; "" for none
	InClusterDir string // directory of service account files; "" for none
	// Supervisor is a program with its first arguments that runs a command, which follows a duration, until then or its
	// own end at the latest: see [parent.Run]. Empty: credential plugins are not supervised.
	Supervisor []string
	// SharedFile is a file for all providers of one run of Terraform: see [parent.SharedFile]. "" for none.
	SharedFile string
}

// OSEnv returns the environment of this process.
func OSEnv() Env {
	home, _ := os.UserHomeDir() // "" if it is unknown
	return Env{Getenv: os.Getenv, Home: home, InClusterDir: DefaultInClusterDir}
}

// Get returns the value of a variable, or "" if it is not set.
func (e Env) Get(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

// Error reports that the configuration selects no cluster, or one that cannot be
// used. Its text never contains a credential.
type Error struct {
	// Attribute is the provider attribute that caused the error; empty if none did.
	Attribute string
	// Tried lists the sources that were searched, in order, each with the result.
	Tried []string
	Err   error
}

func (e *Error) Error() string {
	if len(e.Tried) == 0 {
		return e.Err.Error()
	}
	return e.Err.Error() + "\n\nThe following sources were searched, in this order:\n  - " +
		strings.Join(e.Tried, "\n  - ")
}

func (e *Error) Unwrap() error { return e.Err }

func newError(attribute, format string, args ...any) error {
	return &Error{Attribute: attribute, Err: fmt.Errorf(format, args...)}
}

// Resolved is a configuration that selects a cluster.
type Resolved struct {
	REST      *rest.Config
	Namespace string
	Plugin    *Plugin // nil for none
}

// Resolve determines the cluster and the namespace. It reads files and sends no request. The order is: ConfigPaths or
// Host, the variable KUBECONFIG or else ~/.kube/config, and the service account of a pod. The other fields override
// what is found. There is no implicit localhost: if nothing is found, the error, an *Error, lists the sources that were
// searched.
func (c Config) Resolve() (Resolved, error) {
	if err := c.check(); err != nil {
		return Resolved{}, err
	}
	found, err := c.find()
	if err != nil {
		return Resolved{}, err
	}
	restConfig, contextNamespace, err := c.client(found)
	if err != nil {
		return Resolved{}, err
	}
	restConfig.UserAgent = c.UserAgent
	restConfig.QPS, restConfig.Burst = -1, 0 // no limit: the API server's priority and fairness is the limiter
	if c.QPS > 0 {
		restConfig.QPS, restConfig.Burst = c.QPS, c.Burst
	}
	restConfig.Dial = (&net.Dialer{Timeout: DialTimeout, KeepAlive: 30 * time.Second}).DialContext
	restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper { return rejectRedirects{next} })
	plugin, err := plugin(restConfig, c.Env.Supervisor)
	if err != nil {
		return Resolved{}, newError("exec", "unusable credentials: %w", err)
	}
	namespace, err := c.namespace(contextNamespace, found.origin)
	return Resolved{REST: restConfig, Namespace: namespace, Plugin: plugin}, err
}

// find searches for the cluster in the documented order.
func (c Config) find() (kubeconfig, error) {
	if paths := nonEmpty(c.ConfigPaths); len(paths) > 0 {
		return c.explicitFiles(paths)
	}
	if c.Host != "" {
		return c.hostOnly()
	}
	tried := []string{
		"attribute host, KUBE_HOST: not set",
		"attributes config_path and config_paths, KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS: not set",
	}
	for _, search := range []func() (kubeconfig, string, error){c.fromVariable, c.fromHome, c.fromPod} {
		found, skipped, err := search()
		if err != nil || skipped == "" {
			return found, err
		}
		tried = append(tried, skipped)
	}
	return kubeconfig{}, &Error{
		Tried: tried,
		Err: errors.New("no Kubernetes cluster is configured; set host or config_path in the provider block, " +
			"or one of the environment variables below"),
	}
}

// hostOnly returns an empty kubeconfig for a host without kubeconfig files. It ignores the files of the environment,
// because they may belong to another cluster.
func (c Config) hostOnly() (kubeconfig, error) {
	if cmp.Or(c.ConfigContext, c.ConfigContextCluster, c.ConfigContextAuthInfo) != "" {
		return kubeconfig{}, newError("config_context",
			"config_context, config_context_cluster and config_context_auth_info (or KUBE_CTX, KUBE_CTX_CLUSTER, "+
				"KUBE_CTX_AUTH_INFO) select from a kubeconfig, but only host is set; set config_path, or remove them")
	}
	return kubeconfig{raw: clientcmdapi.NewConfig(), origin: "the provider's configuration"}, nil
}

// explicitFiles loads the files that the configuration names. Each must exist.
func (c Config) explicitFiles(paths []string) (kubeconfig, error) {
	if err := checkPaths(paths); err != nil {
		return kubeconfig{}, newError("config_path", "config_path (or KUBE_CONFIG_PATH) %w", err)
	}
	paths = expandAll(paths, c.Env.Home)
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return kubeconfig{}, newError("config_path", "cannot read kubeconfig %s: %w", path,
				errors.Unwrap(err)) // a *PathError, whose path is known
		}
	}
	found, err := loadFiles(paths)
	if err != nil {
		return kubeconfig{}, &Error{Attribute: "config_path", Err: err}
	}
	return found, nil
}

// The next three functions search one source each. They return the reason why the source was skipped, or "" if it was
// not.

// fromVariable reads the files that KUBECONFIG lists. Like kubectl, it skips missing files.
func (c Config) fromVariable() (kubeconfig, string, error) {
	list := c.Env.Get("KUBECONFIG")
	if list == "" {
		return kubeconfig{}, "KUBECONFIG: not set", nil
	}
	paths := nonEmpty(filepath.SplitList(list))
	if err := checkPaths(paths); err != nil {
		return kubeconfig{}, "", newError("", "KUBECONFIG %w", err)
	}
	found, err := loadFiles(paths)
	if err != nil {
		return kubeconfig{}, "", newError("", "KUBECONFIG: %w", err)
	}
	if found.empty() {
		return kubeconfig{}, "KUBECONFIG=" + list + ": no such file, or no cluster in it", nil
	}
	return found, "", nil
}

// fromHome reads ~/.kube/config. KUBECONFIG replaces it even if its files are
// missing: the provider must not select another cluster than the intended one.
func (c Config) fromHome() (kubeconfig, string, error) {
	switch {
	case c.Env.Get("KUBECONFIG") != "":
		return kubeconfig{}, "~/.kube/config: skipped, because KUBECONFIG is set", nil
	case c.Env.Home == "":
		return kubeconfig{}, "~/.kube/config: skipped, because the user has no home directory", nil
	}
	file := filepath.Join(c.Env.Home, ".kube", "config")
	found, err := loadFiles([]string{file})
	if err != nil {
		return kubeconfig{}, "", &Error{Err: err}
	}
	if found.empty() {
		return kubeconfig{}, "~/.kube/config: no such file, or no cluster in it", nil
	}
	return found, "", nil
}

// fromPod reads the service account of the pod that this process runs in.
func (c Config) fromPod() (kubeconfig, string, error) {
	const source = "in-cluster service account: "
	host, port := c.Env.Get("KUBERNETES_SERVICE_HOST"), c.Env.Get("KUBERNETES_SERVICE_PORT")
	switch {
	case host == "" || port == "":
		return kubeconfig{}, source + "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set", nil
	case c.Env.InClusterDir == "":
		return kubeconfig{}, source + "skipped", nil
	}
	token := filepath.Join(c.Env.InClusterDir, "token")
	if file, _ := os.Stat(token); file == nil {
		return kubeconfig{}, source + "cannot read " + token, nil
	}
	return inCluster("https://"+net.JoinHostPort(host, port), c.Env.InClusterDir), "", nil
}

// namespace applies the documented order: provider block (with KT_NAMESPACE),
// ~/.kt/config.yaml, the context of the kubeconfig or the in-cluster file, "default".
func (c Config) namespace(contextNamespace, origin string) (string, error) {
	if c.Namespace != "" {
		return c.Namespace, nil
	}
	if c.Env.Home != "" {
		const file = "~/.kt/config.yaml"
		fromFile, err := kubetorchNamespace(filepath.Join(c.Env.Home, ".kt", "config.yaml"))
		switch {
		case err != nil:
			return "", newError("namespace", "cannot read %s: %w", file, err)
		case fromFile != "":
			return checkNamespace(fromFile, file)
		}
	}
	if contextNamespace != "" {
		return checkNamespace(contextNamespace, origin)
	}
	return "default", nil
}

func checkNamespace(name, source string) (string, error) {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return "", newError("namespace", "%s contains the invalid namespace %q: %s", source, name,
			strings.Join(problems, "; "))
	}
	return name, nil
}

// kubetorchNamespace reads `namespace` from the configuration file of Kubetorch.
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
	return config.Namespace, err
}
