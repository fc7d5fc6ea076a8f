package provider

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// NewServer returns the protocol server of a provider of [New] or [NewWith]. It
// handles requests that the framework does not forward: the state of each resource
// before its plan, and the interruption of the run. It answers requests about unchanged
// resources without the framework.
func NewServer(p provider.Provider) tfprotov6.ProviderServer { return NewComparingServer(p, nil) }

// Compare is called with each response of the short path, with that of the framework, and with the request. It may add
// diagnostics to the response of the framework, which is the one that Terraform gets. again requests both responses
// once more, of which either may be nil; it must not be called if they do not depend on the cluster.
type Compare func(ctx context.Context, req, framework, short any, again func() (framework, short any))

// NewComparingServer is [NewServer] for tests. Without compare, the framework does not handle what the short path does.
func NewComparingServer(p provider.Provider, compare Compare) tfprotov6.ProviderServer {
	framework := providerserver.NewProtocol6(p)()
	own, ok := p.(*kt)
	complete, implements := framework.(frameworkServer)
	if !ok || !implements {
		return framework
	}
	return newServer(complete, own, compare)
}

func newServer(framework frameworkServer, own *kt, compare Compare) *server {
	s := &server{frameworkServer: framework, kt: own, off: own.env.Get("KT_SHORT_PATH") == "off", compare: compare,
		types: sync.OnceValues(own.resourceTypes)}
	s.offline = sync.OnceValue(func() *shortPath {
		short, _ := s.newShortPath(own.ctx, nil) // ConfigureProvider returns the error
		return short
	})
	return s
}

// frameworkServer contains all interfaces that the server of the framework
// implements, because terraform-plugin-go serves only implemented interfaces.
type frameworkServer interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
	tfprotov6.ActionServer
	tfprotov6.StateStoreServer
}

type server struct {
	frameworkServer

	kt      *kt
	off     bool    // the framework handles all requests
	compare Compare // nil except in tests
	actions runningActions

	// configured is the short path of the configured provider. It is nil before, and if the short path is off.
	configured atomic.Pointer[shortPath]
	// offline returns the short path of validations before that, which need no cluster.
	offline func() *shortPath

	types func() (map[string]resourceType, error) // of the resources
}

// respond returns the short response if there is one, and otherwise that of the framework.
func respond[Request, Response any](
	ctx context.Context, compare Compare, req *Request, short *Response,
	framework func(context.Context, *Request) (*Response, error), again func() *Response,
) (*Response, error) {
	if short != nil && compare == nil {
		return short, nil
	}
	resp, err := framework(ctx, req)
	if short != nil && err == nil {
		compare(ctx, req, resp, short, func() (any, any) {
			short := again()
			resp, _ := framework(ctx, req)
			return resp, short
		})
	}
	return printed(resp, err)
}

// ConfigureProvider prepares the short path.
func (s *server) ConfigureProvider(
	ctx context.Context, req *tfprotov6.ConfigureProviderRequest,
) (*tfprotov6.ConfigureProviderResponse, error) {
	resp, err := printed(s.frameworkServer.ConfigureProvider(ctx, req))
	data := s.kt.data.Load()
	if err != nil || data == nil || s.off {
		return resp, err
	}
	short, err := s.newShortPath(ctx, data)
	s.configured.Store(short)
	return resp, err
}

// ValidateResourceConfig stores the configuration for the plan, which follows. Terraform sends this request to two
// processes: the first is not configured.
func (s *server) ValidateResourceConfig(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	if data := s.kt.data.Load(); data != nil {
		if id, ok := configID(req.TypeName, req.Config); ok {
			data.Configs.Store(id, req.Config)
		}
	}
	short := s.configured.Load()
	if short == nil && !s.off {
		short = s.offline()
	}
	return respond(ctx, s.compare, req, short.validate(ctx, req), s.validate, nil)
}

// validate removes diagnostics about attributes of unknown objects. The framework takes
// the attributes of unknown items of a list for null, and reports the required ones as
// missing: https://github.com/hashicorp/terraform-plugin-framework/issues/186
func (s *server) validate(
	ctx context.Context, req *tfprotov6.ValidateResourceConfigRequest,
) (*tfprotov6.ValidateResourceConfigResponse, error) {
	resp, err := s.frameworkServer.ValidateResourceConfig(ctx, req)
	if err != nil || len(resp.Diagnostics) == 0 {
		return resp, err
	}
	of, ok := s.typeOf(req.TypeName)
	if !ok {
		return resp, nil
	}
	config, err := req.Config.Unmarshal(of.wire)
	if err != nil {
		return resp, nil //nolint:nilerr // the framework reports it
	}
	resp.Diagnostics = slices.DeleteFunc(resp.Diagnostics, func(d *tfprotov6.Diagnostic) bool {
		last, _, err := tftypes.WalkAttributePath(config, d.Attribute)
		value, ok := last.(tftypes.Value)
		return err != nil && ok && !value.IsKnown()
	})
	return resp, nil
}

func (s *server) typeOf(name string) (resourceType, bool) {
	all, _ := s.types() // ConfigureProvider returns the error
	of, ok := all[name]
	return of, ok
}

// UpgradeResourceState records the object of a resource in state. Terraform sends
// this request for each resource before its plan, even without a refresh. For a
// tainted resource, it is the only request with the state.
func (s *server) UpgradeResourceState(
	ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest,
) (*tfprotov6.UpgradeResourceStateResponse, error) {
	var state map[string]json.RawMessage
	data := s.kt.data.Load()
	if !data.Configured() || req.RawState == nil || json.Unmarshal(req.RawState.JSON, &state) != nil {
		return printed(s.frameworkServer.UpgradeResourceState(ctx, req)) // which reports the error
	}
	var id, uid string
	if json.Unmarshal(state["id"], &id) == nil && json.Unmarshal(state["uid"], &uid) == nil {
		data.Run.Hold(types.UID(uid), req.TypeName+" "+id)
	}
	short := s.configured.Load().upgradeState(req, state)
	return respond(ctx, s.compare, req, short, s.frameworkServer.UpgradeResourceState, nil)
}

// ReadResource refreshes a resource. Terraform configures the provider again for an apply, which refreshes nothing.
func (s *server) ReadResource(
	ctx context.Context, req *tfprotov6.ReadResourceRequest,
) (*tfprotov6.ReadResourceResponse, error) {
	if data := s.kt.data.Load(); data.Configured() && data.Run != nil {
		data.Cluster.Discovery.KeepMissing()
	}
	short := func() *tfprotov6.ReadResourceResponse { return s.configured.Load().read(ctx, req) }
	return respond(ctx, s.compare, req, short(), s.frameworkServer.ReadResource, short)
}

// PlanResourceChange plans a resource.
func (s *server) PlanResourceChange(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) (*tfprotov6.PlanResourceChangeResponse, error) {
	var short *tfprotov6.PlanResourceChangeResponse
	written := req.Config // without the values of lifecycle.ignore_changes
	if id, ok := configID(req.TypeName, req.Config); ok && s.kt.data.Load() != nil {
		configs := &s.kt.data.Load().Configs
		defer configs.Delete(id)
		if configs.Is(id, req.Config) {
			short = s.planUnchanged(ctx, req)
		} else if stored, ok := configs.Get(id); ok {
			written = stored
		}
	}
	resp, err := respond(ctx, s.compare, req, short, s.frameworkServer.PlanResourceChange,
		func() *tfprotov6.PlanResourceChangeResponse { return s.planUnchanged(ctx, req) })
	if err == nil && len(resp.RequiresReplace) > 0 {
		err = s.addWarningsOfCreation(ctx, req, written, resp)
	}
	return resp, err
}

// addWarningsOfCreation adds the warnings of the creation to the plan of a change that requires a replacement.
// Terraform plans the creation next, from the configuration as written, but shows only its errors
// (https://github.com/hashicorp/terraform/blob/v1.16.2/internal/terraform/node_resource_abstract_instance.go, plan).
func (s *server) addWarningsOfCreation(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest, written *tfprotov6.DynamicValue,
	resp *tfprotov6.PlanResourceChangeResponse,
) error {
	failed := func(d *tfprotov6.Diagnostic) bool { return d.Severity == tfprotov6.DiagnosticSeverityError }
	if slices.ContainsFunc(resp.Diagnostics, failed) {
		return nil
	}
	null := tfprotov6.DynamicValue{MsgPack: []byte{0xc0}} // of any type
	creation, err := printed(s.frameworkServer.PlanResourceChange(owned.Unrecorded(ctx),
		&tfprotov6.PlanResourceChangeRequest{TypeName: req.TypeName, PriorState: &null, Config: written,
			ProposedNewState: written, PriorPrivate: resp.PlannedPrivate, ProviderMeta: req.ProviderMeta}))
	if err != nil {
		return err
	}
	first := resp.Diagnostics
	for _, d := range creation.Diagnostics {
		shown := func(other *tfprotov6.Diagnostic) bool { return other.Summary == d.Summary }
		if d.Severity == tfprotov6.DiagnosticSeverityWarning && !slices.ContainsFunc(first, shown) {
			resp.Diagnostics = append(resp.Diagnostics, d)
		}
	}
	return nil
}

// planUnchanged returns the response of the short path, and records that the run keeps the resource. It returns nil if
// the framework has to plan the resource, or to report a conflict with another resource.
func (s *server) planUnchanged(
	ctx context.Context, req *tfprotov6.PlanResourceChangeRequest,
) *tfprotov6.PlanResourceChangeResponse {
	short, keep := s.configured.Load().plan(ctx, req)
	if short != nil && s.compare == nil && !keep() {
		return nil
	}
	return short
}

// GetProviderSchema also announces GenerateResourceConfig, without which Terraform generates all attributes with their
// defaults. The framework implements the request, but does not announce it.
func (s *server) GetProviderSchema(
	ctx context.Context, req *tfprotov6.GetProviderSchemaRequest,
) (*tfprotov6.GetProviderSchemaResponse, error) {
	resp, err := s.frameworkServer.GetProviderSchema(ctx, req)
	if err == nil && resp.ServerCapabilities != nil {
		resp.ServerCapabilities.GenerateResourceConfig = true
	}
	return resp, err
}

// GenerateResourceConfig returns the configuration of a resource in state, without attributes that have defaults.
func (s *server) GenerateResourceConfig(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.GenerateResourceConfigResponse, error) {
	state, diags := s.generated(ctx, req)
	if diags.HasError() {
		return printed(&tfprotov6.GenerateResourceConfigResponse{Diagnostics: diagnosticsOf(diags)}, nil)
	}
	return printed(s.frameworkServer.GenerateResourceConfig(ctx, &tfprotov6.GenerateResourceConfigRequest{
		TypeName: req.TypeName, State: state}))
}

// StopProvider is called when the run is interrupted. From then on, Terraform may
// exit before it writes the state of created objects.
func (s *server) StopProvider(
	ctx context.Context, req *tfprotov6.StopProviderRequest,
) (*tfprotov6.StopProviderResponse, error) {
	s.kt.completions.Interrupt()
	limited, cancel := context.WithTimeout(ctx, actionStopTime)
	defer cancel()
	s.actions.interrupt(limited)
	return s.frameworkServer.StopProvider(ctx, req)
}

// generated returns the state in a request without the attributes that a configuration omits. It returns the state as
// it is if the resource type is unknown, which the framework reports.
func (s *server) generated(
	ctx context.Context, req *tfprotov6.GenerateResourceConfigRequest,
) (*tfprotov6.DynamicValue, diag.Diagnostics) {
	of, ok := s.typeOf(req.TypeName)
	if !ok {
		return req.State, nil
	}
	state, err := req.State.Unmarshal(of.wire)
	if err != nil {
		return req.State, nil // the framework reports it
	}
	config, diags := of.WithoutDefaults(ctx, state)
	if diags.HasError() {
		return nil, diags
	}
	value, err := tfprotov6.NewDynamicValue(of.wire, config)
	if err != nil {
		return nil, diag.Diagnostics{diag.NewErrorDiagnostic("Cannot generate the configuration", err.Error())}
	}
	return &value, nil
}

func diagnosticsOf(diags diag.Diagnostics) []*tfprotov6.Diagnostic {
	var out []*tfprotov6.Diagnostic
	for _, d := range diags {
		severity := tfprotov6.DiagnosticSeverityError
		if d.Severity() == diag.SeverityWarning {
			severity = tfprotov6.DiagnosticSeverityWarning
		}
		out = append(out, &tfprotov6.Diagnostic{Severity: severity, Summary: d.Summary(), Detail: d.Detail()})
	}
	return out
}
