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
	"k8s.io/apimachinery/pkg/types"
)

func TestProbeRequestsToDifferentPodsHaveDifferentKeys(t *testing.T) {
	t.Parallel()
	pod := func(uid string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	key := func(name, method string, bytes int64, pods ...*corev1.Pod) string {
		return ProbeRequest{Endpoint: &Endpoint{Namespace: "ml", Name: name, Pods: pods}, Method: method,
			Bytes: bytes}.String()
	}
	same := key("pool", MethodHealth, 0, pod("1", corev1.ConditionTrue))
	for name, test := range map[string]struct {
		key  string
		same bool
	}{
		"the same request":        {key("pool", MethodHealth, 0, pod("1", corev1.ConditionTrue)), true},
		"another compute":         {key("pond", MethodHealth, 0, pod("1", corev1.ConditionTrue)), false},
		"another method":          {key("pool", MethodTensor, 0, pod("1", corev1.ConditionTrue)), false},
		"another size":            {key("pool", MethodHealth, 1, pod("1", corev1.ConditionTrue)), false},
		"a new pod":               {key("pool", MethodHealth, 0, pod("2", corev1.ConditionTrue)), false},
		"a pod that became ready": {key("pool", MethodHealth, 0, pod("1", corev1.ConditionFalse)), false},
		"an additional pod": {key("pool", MethodHealth, 0, pod("1", corev1.ConditionTrue),
			pod("2", corev1.ConditionTrue)), false},
	} {
		if (test.key == same) != test.same {
			t.Errorf("%s: %q and %q", name, same, test.key)
		}
	}
}

func TestUnresponsiveAddressIsDialedOnce(t *testing.T) {
	t.Parallel()
	var unresponsive addresses
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if _, err := unresponsive.dial(expired, "192.0.2.1:50051"); err == nil || errors.Is(err, errUnresponsive) ||
		!errors.Is(expired.Err(), context.DeadlineExceeded) {
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

func TestPortForwardWaitsForABusyAPIServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errResponse := errors.New("response of the API server")
		route := Route{forward: func(ctx context.Context) (net.Conn, error) {
			select {
			case <-time.After(20 * time.Second):
				return nil, errResponse
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}
		if _, err := route.Dialer().Dial(t.Context(), ""); !errors.Is(err, errResponse) {
			t.Errorf("err = %v, want that of the API server", err)
		}
	})
}
