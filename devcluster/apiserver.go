package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// auditPolicy logs each request once, when its response is complete, without bodies. This is sufficient for counting
// requests.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

// prepareAPIServer parses the flags of kube-apiserver and returns the function that runs it on the given listener.
func prepareAPIServer(
	ctx context.Context, listener *connections, files certFiles, etcdURL, dir, auditLog string,
) (func(context.Context) error, error) {
	args := []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--tls-cert-file=" + files.serverCert,
		"--tls-private-key-file=" + files.serverKey,
		"--client-ca-file=" + files.ca,
		"--requestheader-client-ca-file=" + files.frontCA,
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + files.frontCert,
		"--proxy-client-key-file=" + files.frontKey,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + files.accountKey,
		"--service-account-signing-key-file=" + files.accountKey,
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + files.ca,
		"--kubelet-client-certificate=" + files.kubeletClientCert,
		"--kubelet-client-key=" + files.kubeletClientKey,
		// Sufficient for a thousand objects that parallel tests handle at the same time.
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=2000",
		"--profiling=false",
	}
	if auditLog != "" {
		policy := filepath.Join(dir, "audit-policy.yaml")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			return nil, err
		}
		// Without a size, the log is rotated after 100 MB, and a reader loses the rest.
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+auditLog,
			"--audit-log-maxsize=100000")
	}

	opts := options.NewServerRunOptions()
	if err := parseFlags(opts.Flags(), args); err != nil {
		return nil, fmt.Errorf("flags of kube-apiserver: %w", err)
	}
	opts.SecureServing.Listener = listener
	opts.SecureServing.BindPort = port(listener.TCPListener)
	// Feature gates are global to the process, and also apply to controller-manager and scheduler.
	if err := opts.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("feature gates: %w", err)
	}
	completed, err := opts.Complete(ctx)
	if err != nil {
		return nil, fmt.Errorf("options of kube-apiserver: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("options of kube-apiserver: %w", errors.Join(errs...))
	}
	return func(ctx context.Context) error { return app.Run(ctx, completed) }, nil
}

// listen listens on a port of a loopback address. 0 selects a free port.
func listen(address string, port int) (*net.TCPListener, error) {
	return net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(address), Port: port})
}

// listenAgain listens on the given port of the loopback address. Without a port, it uses the port of an earlier start
// in the directory, so that its kubeconfigs remain valid, otherwise a free port.
func listenAgain(dir string, wanted int) (*net.TCPListener, error) {
	file := filepath.Join(dir, "port")
	var listener *net.TCPListener
	if wanted == 0 {
		if text, err := os.ReadFile(file); err == nil {
			if last, err := strconv.Atoi(string(text)); err == nil {
				listener, _ = listen("127.0.0.1", last) // another process may use it now
			}
		}
	}
	if listener == nil {
		var err error
		if listener, err = listen("127.0.0.1", wanted); err != nil {
			return nil, err
		}
	}
	return listener, os.WriteFile(file, []byte(strconv.Itoa(port(listener))), 0o600)
}

// port returns the port of a listener.
func port(listener *net.TCPListener) int {
	return int(netip.MustParseAddrPort(listener.Addr().String()).Port())
}

// parseFlags parses args like the command line of the component.
func parseFlags(named cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet("component", pflag.ContinueOnError)
	for _, set := range named.FlagSets {
		all.AddFlagSet(set)
	}
	return all.Parse(args)
}
