package kube

import (
	"testing"

	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestNamespaceIsConfiguredOrThatOfTheConnection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings config.Config
		want     string
		class    Class // of the error, Other for none
	}{
		"configured":                     {config.Config{Host: "https://h", Namespace: "ml"}, "ml", Other},
		"configured without a cluster":   {config.Config{Namespace: "ml"}, "ml", Other},
		"the default":                    {config.Config{Host: "https://h"}, "default", Other},
		"unknown, because of no cluster": {config.Config{}, "", Misconfigured},
	} {
		got, err := NewCluster(t.Context(), test.settings).Namespace()
		if got != test.want || ClassOf(Wrap("read", Ref{}, err)) != test.class {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Lists and watches use another decoder, and so another client, than the other requests.
func TestRateIsThatOfAllRequestsTogether(t *testing.T) {
	t.Parallel()
	settings := config.Config{Host: "https://h", QPS: 1e-3, Burst: 2}
	conn, err := NewCluster(t.Context(), settings).API.connect()
	if err != nil {
		t.Fatal(err)
	}
	one, other := conn.rest.GetRateLimiter(), conn.entries.GetRateLimiter()
	if !one.TryAccept() || !other.TryAccept() {
		t.Error("the burst is not accepted")
	}
	if one.TryAccept() || other.TryAccept() {
		t.Error("more than the burst is accepted")
	}
	settings.QPS = 0
	if conn, err = NewCluster(t.Context(), settings).API.connect(); err != nil ||
		conn.rest.GetRateLimiter() != nil || conn.entries.GetRateLimiter() != nil {
		t.Errorf("there is a limit by default, or %v", err)
	}
}

func TestSettingsOfACluster(t *testing.T) {
	t.Parallel()
	yes := true
	settings := config.Config{Host: "https://h", Token: "x", NodeAutoscaling: &yes, RequireMaskedLogs: true,
		Env: config.Env{Home: t.TempDir()}}
	cluster := NewCluster(t.Context(), settings)
	found, err := cluster.API.RESTConfig()
	if err != nil || found.Host != "https://h" || found.BearerToken != "x" {
		t.Errorf("%v, %v", found, err)
	}
	if again, _ := cluster.API.RESTConfig(); again != found {
		t.Error("the configuration was resolved again")
	}
	if cluster.NodeAutoscaling() != &yes || !cluster.RequiresMaskedLogs() || cluster.Env().Home != settings.Env.Home {
		t.Errorf("autoscaling %v, masked logs %t, environment %+v", cluster.NodeAutoscaling(),
			cluster.RequiresMaskedLogs(), cluster.Env())
	}
	if cluster.Clock() != (clock.RealClock{}) {
		t.Errorf("the clock is %T", cluster.Clock())
	}
	fake := &kubetest.Clock{}
	if cluster.WithClock(fake).Clock() != fake {
		t.Errorf("the clock is %T", cluster.Clock())
	}
	if found, err := NewCluster(t.Context(), config.Config{}).API.RESTConfig(); err == nil {
		t.Errorf("without a cluster: %v", found)
	}
}
