package kube

import (
	"io"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// logOf returns a cluster with one log, and checks the requests for it.
func logOf(t *testing.T, text, query string) *Cluster {
	t.Helper()
	return clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		const path = "/api/v1/namespaces/ml/pods/trainer-0/log"
		if request.URL.Path != path || request.URL.Query().Encode() != query {
			t.Errorf("asked for %s, want %s?%s", request.URL, path, query)
		}
		_, _ = io.WriteString(w, text)
	}))
}

func TestLastLinesOfALog(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "one\n": {"one"}, "one\ntwo": {"one", "two"}, "one\n\ntwo\n\n": {"one", "", "two"},
	} {
		cluster := logOf(t, text, "container=server&limitBytes=1048576&previous=true&tailLines=7")
		lines, err := cluster.API.Logs(t.Context(), "ml", "trainer-0", "server", true, 7)
		if err != nil || !slices.Equal(lines, want) {
			t.Errorf("%q, %v; want %q", lines, err, want)
		}
	}
}

func TestLogIsStreamed(t *testing.T) {
	t.Parallel()
	cluster := logOf(t, "one\ntwo\n", "container=server&follow=true")
	stream, err := cluster.API.StreamLogs(t.Context(), "ml", "trainer-0",
		corev1.PodLogOptions{Container: "server", Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if text, err := io.ReadAll(stream); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestFailuresToReadALog(t *testing.T) {
	t.Parallel()
	for reason, want := range map[metav1.StatusReason]struct {
		code  int
		class Class
	}{
		metav1.StatusReasonForbidden:     {http.StatusForbidden, Denied},
		metav1.StatusReasonBadRequest:    {http.StatusBadRequest, Invalid},
		metav1.StatusReasonInternalError: {http.StatusInternalServerError, Other},
	} {
		cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
			return kubetest.Failing(want.code, reason)
		}})
		stream, err := cluster.API.StreamLogs(t.Context(), "ml", "trainer-0", corev1.PodLogOptions{})
		if stream != nil || err == nil || ClassOf(err) != want.class {
			t.Errorf("%s: class %d of %v, want %d", reason, ClassOf(err), err, want.class)
		}
		if lines, err := cluster.API.Logs(t.Context(), "ml", "trainer-0", "c", false, 1); err == nil || lines != nil {
			t.Errorf("%s: %q, %v", reason, lines, err)
		}
	}
}
