package observe

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// eventAt returns an event about an object, at a number of minutes.
func eventAt(minute int, kind, name, reason string) corev1.Event {
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC))
	return corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: fmt.Sprintf("%s.%d", name, minute),
			CreationTimestamp: at},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "ml", Name: name},
		Type:           "Normal", Reason: reason, LastTimestamp: at,
	}
}

func TestEventsOfTheComputeAreListedNewestLast(t *testing.T) {
	t.Parallel()
	events := []corev1.Event{
		eventAt(5, "Pod", "trainer-1-a", "Started"),
		eventAt(1, "Deployment", "trainer", "ScalingReplicaSet"),
		eventAt(4, "Pod", "trainer-1-b", "OfAnotherPod"),
		eventAt(2, "ReplicaSet", "trainer-1", "SuccessfulCreate"),
		eventAt(6, "Deployment", "trainer-two", "OfAnotherDeployment"),
		eventAt(3, "PersistentVolumeClaim", "weights", "Provisioning"),
		eventAt(7, "Service", "trainer", "OfAnotherKind"),
	}
	pod := kubetest.RunningPod("trainer-1-a")
	pod.Spec.Volumes = []corev1.Volume{
		{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "weights"}}}}
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
		query := request.URL.Query()
		switch {
		case strings.HasSuffix(path, "/events") && query.Get("continue") == "":
			return http.StatusOK, corev1.EventList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: events[:3]}
		case strings.HasSuffix(path, "/events"):
			return http.StatusOK, corev1.EventList{Items: events[3:]}
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}})
	for name, test := range map[string]struct {
		filter EventFilter
		want   string
	}{
		"all":          {EventFilter{}, "ScalingReplicaSet SuccessfulCreate Provisioning Started"},
		"the newest":   {EventFilter{Limit: 2}, "Provisioning Started"},
		"some reasons": {EventFilter{Reasons: []string{"Started", "SuccessfulCreate"}}, "SuccessfulCreate Started"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := Events(t.Context(), cluster, "ml", kubetest.Deployment("1", 1), []*corev1.Pod{pod},
				test.filter)
			if err != nil {
				t.Fatal(err)
			}
			var reasons []string
			for _, event := range found {
				reasons = append(reasons, event.Reason)
			}
			if got := strings.Join(reasons, " "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
