// Package portforward is the ephemeral resource kt_port_forward.
package portforward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// New returns a constructor of the resource. What it constructs shares the
// tunnels that are open, since Terraform opens and closes with two of them.
func New() func() ephemeral.EphemeralResource {
	shared := &tunnels{}
	return func() ephemeral.EphemeralResource { return &portForward{tunnels: shared} }
}

type portForward struct {
	data    *tf.ProviderData // nil until the provider is configured
	tunnels *tunnels
}

var (
	_ ephemeral.EphemeralResourceWithClose     = (*portForward)(nil)
	_ ephemeral.EphemeralResourceWithConfigure = (*portForward)(nil)
)

// tunnels are those that are open, by a key in their private data.
type tunnels struct{ open sync.Map }

func (p *portForward) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_port_forward"
}

func (p *portForward) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	data, diags := tf.DataOf(req.ProviderData)
	p.data = data
	resp.Diagnostics.Append(diags...)
}

type model struct {
	Name      types.String `tfsdk:"name"`
	Pod       types.String `tfsdk:"pod"`
	Service   types.String `tfsdk:"service"`
	Namespace types.String `tfsdk:"namespace"`
	UID       types.String `tfsdk:"uid"`
	Required  types.Bool   `tfsdk:"required"`
	Port      types.Int32  `tfsdk:"port"`
	LocalPort types.Int32  `tfsdk:"local_port"`
	Host      types.String `tfsdk:"host"`
	Address   types.String `tfsdk:"address"`
	URL       types.String `tfsdk:"url"`
}

// tunnelKey is where the private data says which tunnel it is.
const tunnelKey = "tunnel"

// Open starts to listen. That there is a pod to connect to is looked at once,
// for the sake of a clear error; each connection then finds its own.
func (p *portForward) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if p.data == nil || p.data.Unknown {
		if req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &ephemeral.Deferred{Reason: ephemeral.DeferredReasonProviderConfigUnknown}
			return
		}
		resp.Diagnostics.AddError("The cluster is not known yet", "The provider's configuration depends on resources that this run will create. "+
			"Set `uid` to the uid of a kt_compute: Terraform then opens the tunnel when that is there.")
		return
	}
	backend, diags := m.backend(ctx, p.data.Cluster)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if resp.Diagnostics.Append(m.try(ctx, p.data.Cluster, backend)...); resp.Diagnostics.HasError() {
		return
	}
	log := context.WithoutCancel(ctx)
	forward, err := p.data.Cluster.Forward(ctx, backend, int(m.LocalPort.ValueInt32()), func(err error) {
		tflog.Warn(log, "a connection was not forwarded", map[string]any{"error": err.Error()})
	})
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("local_port"), "The local port cannot be opened",
			fmt.Sprintf("%v\n\nNext step: Leave `local_port` out to get any free one, or end what holds it.", err))
		return
	}
	key := string(uuid.NewUUID())
	p.tunnels.open.Store(key, forward)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, tunnelKey, strconv.AppendQuote(nil, key))...) // private data is JSON
	m.Host, m.LocalPort = types.StringValue("127.0.0.1"), types.Int32Value(int32(forward.Port()))  //nolint:gosec // a port
	m.Address = types.StringValue(net.JoinHostPort(m.Host.ValueString(), strconv.Itoa(forward.Port())))
	m.URL = types.StringValue("http://" + m.Address.ValueString())
	resp.Diagnostics.Append(resp.Result.Set(ctx, &m)...)
}

// try connects once, so that what stands in the way is told now. A stream that
// is reset, which has no class, may do better at the second attempt.
func (m *model) try(ctx context.Context, cluster *kube.Cluster, backend kube.Backend) diag.Diagnostics {
	conn, err := cluster.Dial(ctx, backend)
	var podless *kube.NoPodError
	for range 2 {
		if err == nil || errors.As(err, &podless) || kube.ClassOf(err) != kube.Other || ctx.Err() != nil {
			break
		}
		conn, err = cluster.Dial(ctx, backend)
	}
	if err != nil {
		if errors.As(err, &podless) && !m.Required.IsNull() && !m.Required.ValueBool() {
			caution := tf.Caution(err, "The tunnel is open all the same: each connection waits for a pod, for 30 seconds.")
			return diag.Diagnostics{diag.NewAttributeWarningDiagnostic(m.at(), caution.Summary(), caution.Detail())}
		}
		return diag.Diagnostics{failureAt(m.at(), err)}
	}
	if err := conn.Close(); err != nil {
		tflog.Debug(ctx, "closing the first connection: "+err.Error())
	}
	return nil
}

// Close ends the tunnel and all that goes through it.
func (p *portForward) Close(ctx context.Context, req ephemeral.CloseRequest, resp *ephemeral.CloseResponse) {
	quoted, diags := req.Private.GetKey(ctx, tunnelKey)
	resp.Diagnostics.Append(diags...)
	var key string
	if err := json.Unmarshal(quoted, &key); err != nil {
		return // it was never opened
	}
	forward, ok := p.tunnels.open.LoadAndDelete(key)
	if !ok {
		return // the process that had it is gone, and with it the tunnel
	}
	if err := forward.(*kube.Forward).Close(); err != nil && !errors.Is(err, net.ErrClosed) { //nolint:forcetypeassert,errcheck // nothing else is stored
		resp.Diagnostics.AddWarning("The tunnel did not close as it should", err.Error())
	}
}

// at is the attribute that says what to connect to.
func (m *model) at() path.Path {
	switch {
	case !m.Pod.IsNull():
		return path.Root("pod")
	case !m.Service.IsNull():
		return path.Root("service")
	default:
		return path.Root("name")
	}
}

func failureAt(at path.Path, err error) diag.Diagnostic {
	failure := tf.Failure(err)
	return diag.NewAttributeErrorDiagnostic(at, failure.Summary(), failure.Detail())
}
