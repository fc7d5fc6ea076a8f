package endpoint

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/portforward"
)

func TestProbeRequestsToDifferentPodsHaveDifferentKeys(t *testing.T) {
	t.Parallel()
	pod := func(uid string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	ask := func(name, method string, bytes int64, pods ...*corev1.Pod) string {
		return ProbeRequest{Endpoint: &Endpoint{Namespace: "ml", Name: name, Pods: pods}, Method: method,
			Bytes: bytes}.String()
	}
	same := ask("pool", MethodHealth, 0, pod("1", corev1.ConditionTrue))
	for name, test := range map[string]struct {
		text string
		same bool
	}{
		"the same request":        {ask("pool", MethodHealth, 0, pod("1", corev1.ConditionTrue)), true},
		"another compute":         {ask("pond", MethodHealth, 0, pod("1", corev1.ConditionTrue)), false},
		"another method":          {ask("pool", MethodTensor, 0, pod("1", corev1.ConditionTrue)), false},
		"another size":            {ask("pool", MethodHealth, 1, pod("1", corev1.ConditionTrue)), false},
		"a new pod":               {ask("pool", MethodHealth, 0, pod("2", corev1.ConditionTrue)), false},
		"a pod that became ready": {ask("pool", MethodHealth, 0, pod("1", corev1.ConditionFalse)), false},
		"an additional pod": {ask("pool", MethodHealth, 0, pod("1", corev1.ConditionTrue),
			pod("2", corev1.ConditionTrue)), false},
	} {
		if (test.text == same) != test.same {
			t.Errorf("%s: %q and %q", name, same, test.text)
		}
	}
}

func TestUnresponsiveAddressIsDialedOnce(t *testing.T) {
	t.Parallel()
	var unresponsive addresses
	over, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := unresponsive.dial(over, "192.0.2.1:50051"); errors.Is(err, errUnresponsive) ||
		!errors.Is(over.Err(), context.DeadlineExceeded) {
		t.Fatalf("first dial: %v", err)
	}
	// This context has no deadline: dialing again would wait for minutes.
	if _, err := unresponsive.dial(t.Context(), "192.0.2.1:50051"); !errors.Is(err, errUnresponsive) {
		t.Errorf("second dial: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := unresponsive.dial(t.Context(), listener.Addr().String())
	if err != nil {
		t.Fatalf("another address: %v", err)
	}
	_ = conn.Close()
}

// slow is a cluster whose API server takes 20 s to answer.
type slow struct{ Cluster }

var errAnswered = errors.New("answered")

func (slow) Get(ctx context.Context, _ kube.Ref) (*unstructured.Unstructured, error) {
	select {
	case <-time.After(20 * time.Second):
		return nil, errAnswered
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestPortForwardWaitsForABusyAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		route := Route{cluster: slow{}, backend: &portforward.Backend{Namespace: "ml", Pod: "pool-0"}}
		if _, err := route.Dialer().Dial(t.Context(), ""); !errors.Is(err, errAnswered) {
			t.Errorf("err = %v, want that of the API server", err)
		}
	})
}
