// Command bench measures what plans and applies of many resources cost. It runs the real
// CLI with the provider, with an echo provider of the same schema, and with terraform_data,
// in the same run and with the same resources. It also sends the requests that create,
// update and delete the objects itself, which shows what the API server and its controllers
// need. It requires Linux, and starts a separate dev cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func main() {
	o := options{}
	flag.IntVar(&o.runs, "runs", 3, "number of runs, of which the median is reported")
	flag.StringVar(&o.sizes, "sizes", "", "numbers of resources, in increasing order")
	flag.StringVar(&o.scenarios, "scenarios", "", "scenarios: plan, replan, drift, create, update, destroy")
	flag.StringVar(&o.shapes, "shapes", "", "shapes of the configuration: blocks, count, for_each")
	flag.StringVar(&o.families, "of", "", "resources: computes, kinds, namespaces, volumes, secrets, images")
	flag.StringVar(&o.out, "out", filepath.Join("bin", "bench"), "table and plot to write, without extension")
	flag.BoolVar(&o.peer, "peer", false, "also apply the same objects with the provider gavinbunney/kubectl")
	flag.StringVar(&o.profiles, "profile", "", "directory for profiles of the provider, which is then measured alone")
	flag.Parse()
	if err := run(o); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	runs                               int
	peer                               bool
	sizes, scenarios, shapes, families string
	out, profiles                      string
}

func run(o options) (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	cases, err := o.cases()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kt-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{options: o, dir: dir, audit: newAuditLog(filepath.Join(dir, "audit.log")),
		prototypes: map[prototypeKey]*prototype{}, report: &report{}}
	if err := b.makeProfiles(); err != nil {
		return err
	}
	if b.cli = os.Getenv("KT_CLI"); b.cli == "" {
		b.cli = "terraform"
	}
	version, err := exec.CommandContext(ctx, b.cli, "version").Output()
	if err != nil {
		return err
	}
	b.report.cli, _, _ = strings.Cut(string(version), "\n")
	if err := b.build(ctx); err != nil {
		return err
	}
	binary := filepath.Join(b.dir, string(kt), "provider")
	if b.report.start, err = startUp(ctx, binary, dir, max(o.runs, startRuns)); err != nil {
		return err
	}
	stop, err := b.startCluster(cases)
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}()
	for i, c := range cases {
		b.progress("%s", c)
		if err := b.measure(ctx, c, fmt.Sprintf("bench-%d", i)); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		if err := b.report.write(o.out); err != nil {
			return err
		}
	}
	return errors.Join(b.report.print(os.Stdout), b.report.judge())
}

// bench contains what all cases share.
type bench struct {
	options

	dir, cli   string
	cluster    *cluster
	audit      *auditLog
	prototypes map[prototypeKey]*prototype
	report     *report
}

// makeProfiles makes the directory for profiles.
func (b *bench) makeProfiles() (err error) {
	if b.profiles == "" {
		return nil
	}
	if b.profiles, err = filepath.Abs(b.profiles); err != nil {
		return err
	}
	return os.MkdirAll(b.profiles, 0o755)
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintln(os.Stderr, time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}

// startCluster starts the dev cluster, with the kinds of other projects if a case uses them.
func (b *bench) startCluster(cases []benchCase) (stop func() error, err error) {
	args := []string{"--dir", filepath.Join(b.dir, "cluster"), "--audit-log", b.audit.path}
	for i := range nodes {
		args = append(args, "--node", fmt.Sprintf("name=cpu-%d", i))
	}
	for _, c := range cases {
		if c.family.crds {
			crds, err := acctest.CRDArgs()
			if err != nil {
				return nil, err
			}
			args = append(args, crds...)
			break
		}
	}
	b.progress("starting the dev cluster")
	running, err := acctest.StartCluster(args...)
	if err != nil {
		return nil, err
	}
	b.cluster, err = connect(running.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("%w; stopping the cluster: %w", err, running.Stop())
	}
	return running.Stop, nil
}

// startRuns is the minimum number of starts of which the median is reported.
const startRuns = 5

// nodes is the number of nodes of the dev cluster, each with room for 960 computes. Of 1,000, five subjects have pods.
const nodes = 6
