package config

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ktdev/terraform-provider-kt/internal/detach"
)

// A plugin that needs no user must return credentials within pluginTime. The others can wait for a login in a browser.
const (
	pluginTime = time.Minute
	loginTime  = 3 * time.Minute
)

// Plugin is the credential plugin of a configuration. client-go runs it when credentials are missing, expired or
// rejected, without a time limit and whatever happens to the request.
type Plugin struct {
	Command string // as configured
	Limit   time.Duration

	login    http.RoundTripper
	loggedIn atomic.Bool
}

// plugin returns the plugin of a configuration, or nil for none. It denies the plugin the terminal, which belongs to
// Terraform, and has it run by [Env.Supervisor].
func plugin(config *rest.Config, supervisor []string) (*Plugin, error) {
	run := config.ExecProvider
	if run == nil {
		return nil, nil //nolint:nilnil // no plugin is no error
	}
	p := &Plugin{Command: run.Command, Limit: loginTime}
	if run.InteractiveMode == clientcmdapi.NeverExecInteractiveMode {
		p.Limit = pluginTime
	}
	run.StdinUnavailable, run.StdinUnavailableMessage = true, "the terminal is in use by another program"
	// client-go itself reports a program that does not exist.
	if _, err := exec.LookPath(run.Command); err == nil && len(supervisor) > 0 {
		run.Args = append(append(append([]string{}, supervisor[1:]...), p.Limit.String(), run.Command), run.Args...)
		run.Command = supervisor[0]
	}
	var err error
	p.login, err = rest.HTTPWrappersForConfig(config, noServer{})
	return p, err
}

// Login waits until there are credentials for the first time. Errors are of type *Error, or those of ctx.
func (p *Plugin) Login(ctx context.Context) error {
	if p.loggedIn.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Limit, p.failed(fmt.Sprintf("it did not end within %v", p.Limit)))
	defer cancel()
	request, err := http.NewRequest(http.MethodGet, "http://credentials.invalid", nil) //nolint:noctx // no server
	if err != nil {
		return err
	}
	//nolint:bodyclose // the response has no body: see noServer
	_, err = detach.Call(ctx, func() (*http.Response, error) { return p.login.RoundTrip(request) }, nil)
	if err == nil {
		p.loggedIn.Store(true)
	}
	return p.Explain(err)
}

// Explain returns an error of a request as an *Error if the plugin failed. client-go has no error type for it.
func (p *Plugin) Explain(err error) error {
	if err == nil {
		return nil
	}
	if cause, ok := strings.CutPrefix(err.Error(), "getting credentials: "); ok {
		return p.failed(cause)
	}
	return err
}

func (p *Plugin) failed(cause string) error {
	return newError("exec", "the credential plugin %s did not return credentials: %s\n\n"+
		"Next step: Run the plugin by hand. Its messages are in the log of the provider (TF_LOG=debug)",
		p.Command, cause)
}

// Detached is an http.RoundTripper whose requests end with their context, although client-go may wait for the plugin to
// replace rejected credentials.
type Detached struct{ Next http.RoundTripper }

// RoundTrip makes one request.
func (d Detached) RoundTrip(request *http.Request) (*http.Response, error) {
	return detach.Call(request.Context(), func() (*http.Response, error) { return d.Next.RoundTrip(request) },
		func(late *http.Response) { _ = late.Body.Close() })
}

// noServer is an http.RoundTripper that responds without a server.
type noServer struct{}

// RoundTrip returns an empty response.
func (noServer) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: request}, nil
}
