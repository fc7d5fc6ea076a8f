package manager

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// errHelp reports that help was requested and has been written.
var errHelp = errors.New("help")

type flags struct {
	kubeconfig string
	webhooks   string
}

// parse parses the command line. Help and usage are written to stderr.
func (p Program) parse(args []string, stderr io.Writer) (flags, error) {
	var f flags
	set := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"kubeconfig `file` of the cluster, with a cluster-admin user; required")
	if p.Webhooks != nil {
		set.StringVar(&f.webhooks, "webhooks", "",
			"`file` with webhook configurations, as in the project's config/components/webhook/manifests.yaml; "+
				"required.\nThey are created with this process as their server, and deleted when it stops")
	}
	set.Usage = func() {
		fmt.Fprintf(stderr, `%s

Usage:
  %s [flags]    run the controllers in the foreground; prints "READY" on stdout when they reconcile,
  %*s            logs to stderr, stops on SIGINT or SIGTERM

Flags:
`, p.About, p.Name, len(p.Name), "")
		set.PrintDefaults()
	}
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return flags{}, errHelp
	case err != nil:
		return flags{}, err
	case set.NArg() > 0:
		return flags{}, fmt.Errorf("unknown argument %q; see %s -h", set.Arg(0), p.Name)
	case f.kubeconfig == "":
		return flags{}, fmt.Errorf("--kubeconfig is missing; see %s -h", p.Name)
	case p.Webhooks != nil && f.webhooks == "":
		return flags{}, fmt.Errorf("--webhooks is missing; see %s -h", p.Name)
	}
	return f, nil
}
