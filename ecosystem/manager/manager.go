// Package manager runs the controllers of another project as a local process
// against a test cluster. It does what the main.go of that project does, except
// for what a deployment in containers needs: leader election, metrics, health
// checks, certificates in Secrets. The API server calls the webhooks on
// loopback.
package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// startTimeout and stopTimeout limit steps that usually take up to three
	// seconds; an overloaded machine may need most of the limit.
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// Program is a set of controllers to run as a process.
type Program struct {
	// Name of the binary, and prefix of the cluster-wide objects that it creates.
	Name string
	// About describes the program in one sentence; the first line of the help.
	About string
	// Kinds are the kinds whose CRDs the controllers require.
	Kinds []schema.GroupKind
	// Scheme adds the types of the controllers to the scheme, which has those of
	// Kubernetes. It is not needed if Options have a scheme.
	Scheme func(*runtime.Scheme) error
	// Options of the manager, such as its cache. Main sets the servers, the leader
	// election and the webhooks.
	Options ctrl.Options
	// Add registers controllers and webhooks.
	Add func(context.Context, ctrl.Manager) error
	// Webhooks is nil for controllers without webhooks.
	Webhooks *Webhooks
}

// Main runs the program with the command line and the signals of this process,
// and returns the exit code.
func Main(program Program) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return program.main(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

func (p Program) main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags, err := p.parse(args, stderr)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return 2
	}
	log := logr.FromSlogHandler(slog.NewTextHandler(stderr, nil))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	if err := p.run(ctx, flags, stdout); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return 1
	}
	return 0
}

// run returns when the context ends or the controllers fail.
func (p Program) run(ctx context.Context, flags flags, stdout io.Writer) (err error) {
	config, err := clientcmd.BuildConfigFromFlags("", flags.kubeconfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	config.QPS = -1 // no client-side limit; the API server has priority and fairness
	config.UserAgent = p.Name

	server, err := newServer()
	if err != nil {
		return fmt.Errorf("webhook server: %w", err)
	}
	options := p.Options
	if options.Scheme == nil {
		options.Scheme = runtime.NewScheme()
		if err := errors.Join(clientgoscheme.AddToScheme(options.Scheme), p.Scheme(options.Scheme)); err != nil {
			return fmt.Errorf("scheme: %w", err)
		}
	}
	options.WebhookServer = server
	options.LeaderElection = false
	options.HealthProbeBindAddress = "0"
	options.PprofBindAddress = ""
	options.Metrics.BindAddress = "0"
	timeout := stopTimeout
	options.GracefulShutdownTimeout = &timeout
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}

	if err := p.findKinds(mgr.GetRESTMapper()); err != nil {
		return err
	}

	// The controllers continue after the signal until their webhooks are
	// unregistered, because the API server calls the webhooks until then.
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	if err := p.Add(running, mgr); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := mgr.Start(running)
		end(errors.Join(errors.New("the controllers ended"), err))
		ended <- err
	}()
	defer func() {
		end(nil)
		err = errors.Join(err, <-ended)
	}()

	starting, cancel := context.WithTimeout(running, startTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	unregister, err := p.start(starting, mgr, config, server, flags)
	defer func() { err = errors.Join(err, unregister(running)) }()
	switch {
	case ctx.Err() != nil:
		return nil // stopped during startup
	case err != nil:
		return err
	}
	fmt.Fprintln(stdout, "READY")
	select {
	case <-ctx.Done():
		return nil
	case <-running.Done():
		return context.Cause(running)
	}
}

// findKinds checks that the CRDs are installed. Without them, the controllers
// would wait silently.
func (p Program) findKinds(mapper meta.RESTMapper) error {
	for _, kind := range p.Kinds {
		if _, err := mapper.RESTMapping(kind); err != nil {
			return fmt.Errorf("cannot find %s (is its CustomResourceDefinition installed?): %w", kind, err)
		}
	}
	return nil
}

// start waits for the controllers and registers the webhooks with the API
// server. The returned function unregisters them, also after an error.
func (p Program) start(
	ctx context.Context, mgr ctrl.Manager, config *rest.Config, server *server, flags flags,
) (unregister func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	select {
	case <-mgr.Elected(): // without leader election: once the controllers have started
	case <-ctx.Done():
		return nothing, context.Cause(ctx)
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return nothing, fmt.Errorf("caches did not sync: %w", context.Cause(ctx))
	}
	if p.Webhooks == nil {
		return nothing, nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nothing, err
	}
	registration, err := p.Webhooks.registration(p.Name, flags.webhooks, server)
	if err != nil {
		return nothing, err
	}
	unregister = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return registration.remove(ctx, client)
	}
	return unregister, registration.apply(ctx, client, server)
}
