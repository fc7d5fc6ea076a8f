// Package options parses the command line of the dev cluster and prepares its directory.
package options

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/nodespec"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/pki"
)

const usage = `devcluster runs a Kubernetes control plane with fake nodes in one process.

Usage:
  devcluster [flags]            run a cluster in the foreground; prints "READY <kubeconfig>"
                                on stdout when workloads can run, stops on SIGINT or SIGTERM
  devcluster kubectl ARGS...    run kubectl of the same version
  devcluster version            print the version of Kubernetes

Flags:
`

// Options configure the cluster.
type Options struct {
	Dir        string          // directory of keys, data and log; empty for a temporary directory
	Kubeconfig string          // file to write for the user; empty for one in Dir
	Port       int             // of the API server on 127.0.0.1; 0 selects a free port
	Nodes      []nodespec.Node // fake nodes
	CRDs       []string        // files or directories of YAML to apply before the cluster is ready
	RealNodes  int             // number of real nodes with containerd to start, too
	Images     []string        // archives of images for the real nodes
	AuditLog   string          // file for the API server's audit log; empty for none
	Verbose    bool            // log to stderr rather than to a file in Dir

	temporary bool // Dir is removed at the end, with all data
}

// LogFile returns the log file of the components, which is used unless Verbose is set.
func (o Options) LogFile() string { return filepath.Join(o.Dir, "devcluster.log") }

// NodeLogFile returns the log file of containerd and the kubelet of the real nodes.
func (o Options) NodeLogFile() string { return filepath.Join(o.Dir, "node.log") }

// DataDir returns the directory in Dir with keys and data, from which a cluster can be restarted.
func (o Options) DataDir() string { return filepath.Join(o.Dir, "devcluster-data") }

// Parse parses the command line. It writes help and usage to stderr, and returns pflag.ErrHelp if help was requested.
func Parse(args []string, stderr io.Writer) (Options, error) {
	var opts Options
	var nodes []string
	flags := pflag.NewFlagSet("devcluster", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.SortFlags = false
	flags.StringVar(&opts.Dir, "dir", "", "directory for keys, data and logs, from which a cluster can be "+
		"restarted with the same objects (default: a temporary directory, removed at the end)")
	flags.StringVar(&opts.Kubeconfig, "kubeconfig", "", "file to write a cluster-admin kubeconfig to, removed at "+
		"the end unless --dir is set (default: kubeconfig in the directory)")
	flags.IntVar(&opts.Port, "port", 0, "port of the API server on 127.0.0.1 (default: the port of the last start in "+
		"the directory, otherwise a free port)")
	flags.StringArrayVar(&nodes, "node", nil,
		"fake node, name=NAME[,gpus=N][,product=NAME][,label.KEY=VALUE]...[,taint.KEY=VALUE:EFFECT]...; "+
			"repeatable\n(default: h100-0 and h100-1 with 8 NVIDIA-H100-80GB-HBM3 each, l4-0 with 4 NVIDIA-L4, cpu-0 "+
			"without GPUs)")
	flags.StringArrayVar(&opts.CRDs, "crds", nil, "file or directory of CustomResourceDefinitions to create before "+
		"the cluster is ready; repeatable")
	flags.IntVar(&opts.RealNodes, "kubelet", 0, "also start a real node, real-0, for pods that select and tolerate "+
		"kt.dev/real, or this `number` of them; requires root and containerd")
	flags.Lookup("kubelet").NoOptDefVal = "1"
	flags.StringArrayVar(&opts.Images, "image", nil,
		"archive of a container image to import into each real node; repeatable")
	flags.StringVar(&opts.AuditLog, "audit-log", "",
		"file for the API server's audit log: one JSON line per request, at level Metadata")
	flags.BoolVar(&opts.Verbose, "verbose", false, "log to stderr instead of devcluster.log in the directory")
	flags.Usage = func() { fmt.Fprint(stderr, usage, flags.FlagUsages()) }
	if err := flags.Parse(args); err != nil {
		return Options{}, err
	}
	if flags.NArg() > 0 {
		return Options{}, fmt.Errorf("unknown command %q; see devcluster --help", flags.Arg(0))
	}
	if opts.Port < 0 || opts.Port > 65535 {
		return Options{}, fmt.Errorf("--port %d is not a port: use a number from 0 to 65535", opts.Port)
	}
	if opts.RealNodes < 0 {
		return Options{}, fmt.Errorf("--kubelet=%d is not a number of nodes", opts.RealNodes)
	}
	if len(opts.Images) > 0 && opts.RealNodes == 0 {
		return Options{}, errors.New("--image requires a real node: add --kubelet")
	}
	for _, image := range opts.Images {
		if _, err := os.Stat(image); err != nil {
			return Options{}, fmt.Errorf("--image: %w", err)
		}
	}
	var err error
	opts.Nodes, err = nodespec.ParseAll(nodes)
	return opts, err
}

// Kept reports whether the data is kept at the end, so that the cluster can be restarted.
func (o Options) Kept() bool { return !o.temporary }

// Prepare creates the directories and makes all paths absolute. If the directory is temporary, the returned function
// removes the directory and the kubeconfig. Otherwise, they are kept, because the cluster can be restarted from them.
func (o Options) Prepare() (_ Options, clean func() error, err error) {
	o.temporary = o.Dir == ""
	if o.temporary {
		if o.Dir, err = os.MkdirTemp("", "devcluster-"); err != nil {
			return Options{}, nil, err
		}
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = filepath.Join(o.Dir, "kubeconfig")
	}
	for _, path := range []*string{&o.Dir, &o.Kubeconfig, &o.AuditLog} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return Options{}, nil, err
		}
	}
	if err := replaceable(o.Kubeconfig); err != nil {
		return Options{}, nil, err
	}
	clean = func() error {
		if !o.temporary {
			return nil
		}
		err := os.Remove(o.Kubeconfig)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return errors.Join(err, os.RemoveAll(o.Dir))
	}
	if err := os.MkdirAll(o.DataDir(), 0o700); err != nil {
		return Options{}, nil, err
	}
	return o, clean, nil
}

// replaceable returns an error for a file that is neither empty nor the kubeconfig of a dev cluster.
func replaceable(file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	config, err := clientcmd.LoadFromFile(file)
	if err != nil || len(config.Clusters) != 1 || config.Clusters[pki.ClusterName] == nil {
		return fmt.Errorf("--kubeconfig: %s exists and is not the kubeconfig of a dev cluster: use another file", file)
	}
	return nil
}
