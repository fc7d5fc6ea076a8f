// Package options reads the command line of the dev cluster and prepares the folder it works in.
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
                                on stdout when a workload can run, stops on SIGINT or SIGTERM
  devcluster kubectl ARGS...    kubectl of the same version
  devcluster version            the version of Kubernetes

Flags:
`

// Options say what cluster to start.
type Options struct {
	Dir        string          // holds keys, data and log; empty for a temporary folder
	Kubeconfig string          // file to write for the user; empty for one in Dir
	Port       int             // of the API server on 127.0.0.1; 0 picks a free one
	Nodes      []nodespec.Node // fake nodes
	CRDs       []string        // files or folders of YAML to apply before the cluster is ready
	Kubelet    bool            // also start a real node, by containerd
	Images     []string        // archives of images for the real node
	AuditLog   string          // file for the API server's audit log; empty for none
	Verbose    bool            // log to stderr rather than to a file in Dir

	temporary bool // Dir goes at the end, with all data
}

// LogFile is where the components log to, unless Verbose.
func (o Options) LogFile() string { return filepath.Join(o.Dir, "devcluster.log") }

// NodeLogFile is where containerd and the kubelet of the real node log to.
func (o Options) NodeLogFile() string { return filepath.Join(o.Dir, "node.log") }

// DataDir is the folder in Dir with keys and data, from which a cluster can be started again.
func (o Options) DataDir() string { return filepath.Join(o.Dir, "devcluster-data") }

// Parse reads the command line. Help and usage go to stderr; asked-for help is pflag.ErrHelp.
func Parse(args []string, stderr io.Writer) (Options, error) {
	var opts Options
	var nodes []string
	flags := pflag.NewFlagSet("devcluster", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.SortFlags = false
	flags.StringVar(&opts.Dir, "dir", "", "folder for keys, data and logs; a cluster that is started again in it has the same objects (default: a temporary folder, removed at the end)")
	flags.StringVar(&opts.Kubeconfig, "kubeconfig", "", "file to write a cluster-admin kubeconfig to, removed at the end unless --dir is given (default: kubeconfig in the folder)")
	flags.IntVar(&opts.Port, "port", 0, "port of the API server on 127.0.0.1 (default: that of the last start in the folder, else a free one)")
	flags.StringArrayVar(&nodes, "node", nil, "a fake node, name=NAME[,gpus=N][,product=NAME][,label.KEY=VALUE]...[,taint.KEY=VALUE:EFFECT]...; repeatable\n(default: h100-0 and h100-1 with 8 NVIDIA-H100-80GB-HBM3 each, l4-0 with 4 NVIDIA-L4, cpu-0 without GPUs)")
	flags.StringArrayVar(&opts.CRDs, "crds", nil, "file or folder of CustomResourceDefinitions to create before the cluster is ready; repeatable")
	flags.BoolVar(&opts.Kubelet, "kubelet", false, "also start a real node, real-0, where pods really run that select and tolerate kt.dev/real; needs root and containerd")
	flags.StringArrayVar(&opts.Images, "image", nil, "archive of a container image to import into the real node; repeatable")
	flags.StringVar(&opts.AuditLog, "audit-log", "", "file for the API server's audit log: one JSON line per request, at level Metadata")
	flags.BoolVar(&opts.Verbose, "verbose", false, "log to stderr instead of devcluster.log in the folder")
	flags.Usage = func() { fmt.Fprint(stderr, usage, flags.FlagUsages()) }
	if err := flags.Parse(args); err != nil {
		return Options{}, err
	}
	if flags.NArg() > 0 {
		return Options{}, fmt.Errorf("unknown command %q; see devcluster --help", flags.Arg(0))
	}
	if opts.Port < 0 || opts.Port > 65535 {
		return Options{}, fmt.Errorf("--port %d is not a port from 0 to 65535", opts.Port)
	}
	if len(opts.Images) > 0 && !opts.Kubelet {
		return Options{}, errors.New("--image is for the real node; add --kubelet")
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

// Kept says whether the data outlive the cluster, so that it can be started again.
func (o Options) Kept() bool { return !o.temporary }

// Prepare makes the folders and makes all paths absolute. The returned function removes what the cluster
// leaves if the folder was temporary: the folder and the kubeconfig. A folder that was given stays, since a
// cluster can be started in it again.
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

// replaceable refuses to overwrite a file that is neither empty nor the kubeconfig of a dev cluster.
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
		return fmt.Errorf("--kubeconfig: %s holds something else than the kubeconfig of a dev cluster; name another file", file)
	}
	return nil
}
