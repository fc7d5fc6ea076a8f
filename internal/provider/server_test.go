package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

func served(t *testing.T) (*server, *kt) {
	t.Helper()
	own, ok := New(t.Context(), "test", config.Env{Getenv: func(string) string { return "" }}, nil)().(*kt)
	if !ok {
		t.Fatal("unexpected type of the provider")
	}
	s, ok := NewServer(own).(*server)
	if !ok {
		t.Fatal("the server of the framework does not implement all interfaces of terraform-plugin-go")
	}
	return s, own
}

func TestServerRecordsTheObjectsInState(t *testing.T) {
	t.Parallel()
	s, own := served(t)
	held := run.New(t.Context(), kube.NewCluster(t.Context(), config.Config{}), nil)
	own.data.Store(&tf.ProviderData{Run: held})
	for _, state := range []string{`{"id": "ml/x", "uid": "u"}`, `{"id": "ml/y", "uid": null}`, `{"id": 1}`, `[`} {
		request := &tfprotov6.UpgradeResourceStateRequest{TypeName: "kt_volume",
			RawState: &tfprotov6.RawState{JSON: []byte(state)}}
		if _, err := s.UpgradeResourceState(t.Context(), request); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
	if got := held.HeldBy("u"); got != "kt_volume ml/x" {
		t.Errorf("held by %q", got)
	}
}

func TestServerCanBeStoppedWithoutACluster(t *testing.T) {
	t.Parallel()
	s, _ := served(t)
	request := &tfprotov6.UpgradeResourceStateRequest{TypeName: "kt_volume",
		RawState: &tfprotov6.RawState{JSON: []byte(`{"uid": "u"}`)}}
	if _, err := s.UpgradeResourceState(t.Context(), request); err != nil {
		t.Error(err)
	}
	if _, err := s.StopProvider(t.Context(), &tfprotov6.StopProviderRequest{}); err != nil {
		t.Error(err)
	}
}

func TestServerImplementsAllInterfacesOfTheFramework(t *testing.T) {
	t.Parallel()
	framework := providerserver.NewProtocol6(New(t.Context(), "test", config.Env{}, nil)())()
	own := NewServer(New(t.Context(), "test", config.Env{}, nil)())
	for name, implements := range map[string]func(tfprotov6.ProviderServer) bool{
		"lists": func(s tfprotov6.ProviderServer) bool {
			//nolint:staticcheck // the framework still looks for it
			_, ok := s.(tfprotov6.ProviderServerWithListResource)
			return ok
		},
		"actions": func(s tfprotov6.ProviderServer) bool {
			_, ok := s.(tfprotov6.ProviderServerWithActions) //nolint:staticcheck // as above
			return ok
		},
		"stores": func(s tfprotov6.ProviderServer) bool {
			_, ok := s.(tfprotov6.ProviderServerWithStateStores) //nolint:staticcheck // as above
			return ok
		},
	} {
		if !implements(framework) {
			t.Errorf("the framework does not serve %s: remove this row", name)
		}
		if !implements(own) {
			t.Errorf("%s are not served", name)
		}
	}
}
