// Package portforward implements the ephemeral resource kt_port_forward.
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
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// New returns a constructor of the resource. All instances share the open
// tunnels, because Terraform opens and closes a tunnel with different instances.
func New() func() ephemeral.EphemeralResource {
	shared := &sync.Map{}
	return func() ephemeral.EphemeralResource { return &portForward{tunnels: shared} }
}

type portForward struct {
	data    *tf.ProviderData // nil until the provider is configured
	tunnels *sync.Map        // the open ones, by the key in their private data
}

var (
	_ ephemeral.EphemeralResourceWithClose     = (*portForward)(nil)
	_ ephemeral.EphemeralResourceWithConfigure = (*portForward)(nil)
)

func (p *portForward) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_port_forward"
}

func (p *portForward) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	p.data = tf.DataOf(req.ProviderData, &resp.Diagnostics)
}

type model struct {
	tf.Target
	Pod       types.String `tfsdk:"pod"`
	Service   types.String `tfsdk:"service"`
	UID       types.String `tfsdk:"uid"`
	Required  types.Bool   `tfsdk:"required"`
	Port      types.Int32  `tfsdk:"port"`
	LocalPort types.Int32  `tfsdk:"local_port"`
	Host      types.String `tfsdk:"host"`
	Address   types.String `tfsdk:"address"`
	URL       types.String `tfsdk:"url"`
}

// tunnelKey is the key of the tunnel's identifier in the private data.
const tunnelKey = "tunnel"

// Open listens on the local port. It first connects to a pod, to report problems early. Each connection then selects a
// pod.
func (p *portForward) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !p.data.Configured() {
		if req.ClientCapabilities.DeferralAllowed {
			resp.Deferred = &ephemeral.Deferred{Reason: ephemeral.DeferredReasonProviderConfigUnknown}
			return
		}
		resp.Diagnostics.AddError("Cluster not known yet", "The provider configuration depends on resources that "+
			"this run creates, so there is no cluster to open a tunnel to.\n\n"+
			"Next step: Set `uid` to the uid of a kt_compute. Terraform then opens the tunnel after that compute "+
			"is created.")
		return
	}
	backend, at, diags := m.backend(ctx, p.data.Cluster)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if resp.Diagnostics.Append(m.try(ctx, p.data.Cluster, backend, at)...); resp.Diagnostics.HasError() {
		return
	}
	log := context.WithoutCancel(ctx)
	forward, err := portforward.Listen(ctx, p.data.Cluster, backend, int(m.LocalPort.ValueInt32()), func(err error) {
		tflog.Warn(log, "connection not forwarded", map[string]any{"error": err.Error()})
	})
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("local_port"), "Cannot open the local port",
			fmt.Sprintf("%v\n\nNext step: Remove `local_port` to use any free port, or stop the process that uses "+
				"the port.", err))
		return
	}
	key := string(uuid.NewUUID())
	p.tunnels.Store(key, forward)
	// private data is JSON
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, tunnelKey, strconv.AppendQuote(nil, key))...)
	//nolint:gosec // a port
	m.Host, m.LocalPort = types.StringValue("127.0.0.1"), types.Int32Value(int32(forward.Port()))
	m.Address = types.StringValue(net.JoinHostPort(m.Host.ValueString(), strconv.Itoa(forward.Port())))
	m.URL = types.StringValue("http://" + m.Address.ValueString())
	resp.Diagnostics.Append(resp.Result.Set(ctx, &m)...)
}

// try connects to the backend, so that problems are reported when the tunnel opens. It retries errors without a class,
// such as a reset stream, twice.
func (m *model) try(
	ctx context.Context, cluster *kube.Cluster, backend portforward.Backend, at path.Path,
) diag.Diagnostics {
	conn, err := portforward.Dial(ctx, cluster, backend)
	var noPod *portforward.NoPodError
	for range 2 {
		if err == nil || errors.As(err, &noPod) || kube.ClassOf(err) != kube.Other || ctx.Err() != nil {
			break
		}
		conn, err = portforward.Dial(ctx, cluster, backend)
	}
	if err != nil {
		if errors.As(err, &noPod) && !m.Required.IsNull() && !m.Required.ValueBool() {
			warning := tf.Warning(err, "The tunnel is open. Each connection waits up to 30 seconds for a ready pod.")
			return diag.Diagnostics{diag.WithPath(at, warning)}
		}
		return diag.Diagnostics{diag.WithPath(at, tf.Failure(err))}
	}
	if err := conn.Close(); err != nil {
		tflog.Debug(ctx, "closing the first connection: "+err.Error())
	}
	return nil
}

// Close closes the tunnel and its connections.
func (p *portForward) Close(ctx context.Context, req ephemeral.CloseRequest, resp *ephemeral.CloseResponse) {
	quoted, diags := req.Private.GetKey(ctx, tunnelKey)
	resp.Diagnostics.Append(diags...)
	var key string
	if err := json.Unmarshal(quoted, &key); err != nil {
		return // the tunnel was never opened
	}
	forward, ok := p.tunnels.LoadAndDelete(key)
	if !ok {
		return // another process opened the tunnel, and closed it when it ended
	}
	//nolint:forcetypeassert,errcheck // nothing else is stored
	if err := forward.(*portforward.Forward).Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		resp.Diagnostics.AddWarning("Cannot close the tunnel", err.Error())
	}
}
