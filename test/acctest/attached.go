package acctest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/provider"
)

// NewAttachedCLI is like [NewCLI], but the provider of Run and its variants runs in the process of the test. A command
// then starts no provider, while the binary starts once to load the schema, once to validate, once to plan and once to
// apply: the tests of ownership took 225 s of CPU time with the binary, and 153 s attached. The environment of the
// provider is that of the commands, apart from HOME.
//
// Use NewCLI for what only processes do: signals, logs, installations, supervised credential plugins, files in the home
// directory, and several configurations of the provider in one command.
func NewAttachedCLI(t *testing.T) *CLI {
	t.Helper()
	c := NewCLI(t)
	c.provider, c.finish = startAndEnd(t, kubeconfig.Env{Getenv: c.getenv}, manifest.Revisions(), provider.NewServer)
	return c
}

// getenv returns the value of a variable in the environment of the commands.
func (c *CLI) getenv(name string) string {
	value := ""
	for _, variable := range c.env {
		if text, is := strings.CutPrefix(variable, name+"="); is {
			value = text // the last one counts
		}
	}
	return value
}

// fullServer is a server with all methods of the provider, some of which [tfprotov6.ProviderServer] lacks.
type fullServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ActionServer
	tfprotov6.ListResourceServer
}

// attachedServer starts the provider again when it is configured again, because Terraform starts a process for the plan
// and another for the apply, which share nothing.
type attachedServer struct {
	fullServer

	start      func() (fullServer, error)
	configured bool
}

// ConfigureProvider configures the provider of the next requests.
func (s *attachedServer) ConfigureProvider(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	if s.configured {
		server, err := s.start()
		if err != nil {
			return nil, err
		}
		s.fullServer = server
	}
	s.configured = true
	return s.fullServer.ConfigureProvider(ctx, req)
}

// attach serves the provider for one command, and returns the variable with which Terraform finds it, and a function
// that ends the server.
func (c *CLI) attach(ctx context.Context, t *testing.T) (variable string, detach func()) {
	t.Helper()
	start := func() (fullServer, error) {
		server, err := c.provider()
		if err != nil {
			return nil, err
		}
		full, is := server.(fullServer)
		if !is {
			return nil, fmt.Errorf("%T lacks methods", server)
		}
		return full, nil
	}
	server, err := start()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	address := ProviderHost() + "/ktdev/kt"
	configs, failed, closed := make(chan *plugin.ReattachConfig), make(chan error, 1), make(chan struct{})
	go func() {
		failed <- tf6server.Serve(address,
			func() tfprotov6.ProviderServer { return &attachedServer{fullServer: server, start: start} },
			tf6server.WithDebug(ctx, configs, closed), tf6server.WithGoPluginLogger(hclog.NewNullLogger()),
			tf6server.WithoutLogStderrOverride(), tf6server.WithLoggingSink(t))
	}()
	var config *plugin.ReattachConfig
	select {
	case config = <-configs:
	case err := <-failed:
		t.Fatal("the provider cannot be served: ", err)
	}
	type networkAddress struct{ Network, String string }
	text, err := json.Marshal(map[string]any{address: map[string]any{
		"Protocol": config.Protocol, "ProtocolVersion": config.ProtocolVersion, "Pid": config.Pid, "Test": config.Test,
		"Addr": networkAddress{config.Addr.Network(), config.Addr.String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return "TF_REATTACH_PROVIDERS=" + string(text), func() {
		c.finish() // before the next command, as its process would
		cancel()
		<-closed
	}
}
