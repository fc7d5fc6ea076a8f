package podstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// stamp formats a line of a log as the kubelet does.
func stamp(second int, text string) string {
	return time.Date(2026, 1, 2, 3, 4, second, 5, time.UTC).Format(time.RFC3339Nano) + " " + text
}

func TestAFollowedLogThatIsCutContinuesWhereItWasCut(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	n := &node{}
	n.log = func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		switch requests.Add(1) {
		case 1:
			if query.Get("tailLines") != "2" || query.Get("follow") != "true" {
				t.Errorf("the first request is %v", query)
			}
			fmt.Fprintf(w, "%s\n%s\n%s", stamp(1, "one"), stamp(2, "two"), stamp(3, "thr"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			if query.Get("tailLines") != "" || query.Get("sinceTime") != "2026-01-02T03:04:02Z" {
				t.Errorf("the second request is %v", query)
			}
			ended := trainer()
			ended.Status.ContainerStatuses[0].State = corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{}}
			n.change("trainer-0", ended)
			fmt.Fprintf(w, "%s\n%s\n%s\n", stamp(2, "two"), stamp(3, "three"), stamp(4, "10%\r20%\rfour"))
		}
	}
	var lines []string
	tail := int64(2)
	log := Log{Namespace: "ml", Pod: "trainer-0", Container: "kubetorch", Follow: true, TailLines: &tail,
		Mask: unmasked}
	err := log.Read(t.Context(), serve(t, n), func(line string) { lines = append(lines, line) })
	if want := []string{"one", "two", "three", "four"}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("got %q, %v", lines, err)
	}
}

func TestALogThatIsCutIsReadFurtherWhereItWasCut(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	n := &node{log: func(w http.ResponseWriter, request *http.Request) {
		if requests.Add(1) == 1 {
			fmt.Fprintf(w, "%s\n%s", stamp(1, "one"), stamp(2, "tw"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		if got := request.URL.Query().Get("sinceTime"); got != "2026-01-02T03:04:01Z" {
			t.Errorf("the second request is since %q", got)
		}
		fmt.Fprintf(w, "%s\n%s\n", stamp(1, "one"), stamp(2, "two"))
	}}
	var lines []string
	log := Log{Namespace: "ml", Pod: "trainer-0", Container: "kubetorch", Mask: unmasked}
	err := log.Read(t.Context(), serve(t, n), func(line string) { lines = append(lines, line) })
	if want := []string{"one", "two"}; err != nil || !slices.Equal(lines, want) || requests.Load() != 2 {
		t.Errorf("got %q, %v after %d requests", lines, err, requests.Load())
	}
}

// The log of this test has no end: it is passed on while it is received.
func TestALogIsNotKeptInMemory(t *testing.T) {
	t.Parallel()
	n := &node{log: func(w http.ResponseWriter, request *http.Request) {
		for request.Context().Err() == nil {
			fmt.Fprintln(w, stamp(1, strings.Repeat("x", 1000)))
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	lines := 0
	log := Log{Namespace: "ml", Pod: "trainer-0", Container: "kubetorch", Mask: unmasked}
	err := log.Read(ctx, serve(t, n), func(string) {
		if lines++; lines == 10 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || lines < 10 {
		t.Errorf("%d lines, %v", lines, err)
	}
}

func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code   int
		reason metav1.StatusReason
		want   kube.Class
	}{
		"no permission":             {http.StatusForbidden, metav1.StatusReasonForbidden, kube.Denied},
		"a container without a log": {http.StatusBadRequest, metav1.StatusReasonBadRequest, kube.Invalid},
		"an unreachable node":       {http.StatusInternalServerError, metav1.StatusReasonInternalError, kube.Other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			n := &node{log: func(w http.ResponseWriter, request *http.Request) {
				requests.Add(1)
				kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
					return kubetest.Failing(test.code, test.reason)
				}}.ServeHTTP(w, request)
			}}
			log := Log{Namespace: "ml", Pod: "trainer-0", Container: "kubetorch", Follow: true, Mask: unmasked}
			err := log.Read(t.Context(), serve(t, n), func(string) {})
			if kube.ClassOf(err) != test.want {
				t.Errorf("%v is of class %v, want %v", err, kube.ClassOf(err), test.want)
			}
			if got := requests.Load(); got > 200 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// fleet imitates an API server with pods that can be listed, and their logs.
type fleet struct {
	node

	logs map[string]func(w http.ResponseWriter, request *http.Request)
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	path := request.URL.Path
	if pod, ok := strings.CutSuffix(path, "/log"); ok {
		f.logs[pod[strings.LastIndex(pod, "/")+1:]](w, request)
		return
	}
	kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		if verb == "list" && strings.HasSuffix(path, "/pods") && request.URL.Query().Get("labelSelector") != "" &&
			request.URL.Query().Get("resourceVersion") == "" {
			f.mu.Lock()
			defer f.mu.Unlock()
			list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{}}
			for _, pod := range f.pods {
				list.Items = append(list.Items, *pod)
			}
			return http.StatusOK, list
		}
		return f.answer(verb, path, request)
	}}.ServeHTTP(w, request)
}

// pod returns a pod with a container that runs.
func pod(name string) *corev1.Pod {
	pod := trainer()
	pod.Name, pod.UID = name, types.UID("uid of "+name)
	return pod
}

func TestLogsOfSeveralPodsAreFollowedUntilTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := &fleet{}
	until := func(w http.ResponseWriter, request *http.Request) {
		w.(http.Flusher).Flush()
		<-request.Context().Done()
	}
	f.logs = map[string]func(http.ResponseWriter, *http.Request){
		"a": func(w http.ResponseWriter, request *http.Request) {
			fmt.Fprintln(w, stamp(1, "line of a"))
			until(w, request)
		},
		"b": func(w http.ResponseWriter, request *http.Request) {
			fmt.Fprintln(w, stamp(1, "line of b"))
			until(w, request)
		},
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.CloseClientConnections)
	f.pods = map[string]*corev1.Pod{"a": pod("a")}
	c := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"}).WithClock(&kubetest.Clock{})
	logs := Logs{PodSource: kube.PodSource{Namespace: "ml", Labels: map[string]string{"app": "x"}}, Follow: true,
		Mask: func(context.Context, *corev1.Pod) (Mask, error) { return unmasked, nil }}
	var got []string
	totals, err := logs.Read(ctx, c, func(line Line) {
		got = append(got, line.Pod+": "+line.Text)
		switch line.Text {
		case "line of a":
			f.mu.Lock()
			f.pods = map[string]*corev1.Pod{"b": pod("b")} // a is deleted, b appears
			f.mu.Unlock()
		case "line of b":
			cancel()
		}
	})
	want := []string{"a: line of a", "a: the pod was deleted", "b: line of b"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	if totals != (Totals{Pods: 2, Containers: 2, Lines: 2}) {
		t.Errorf("got %+v", totals)
	}
	if errors.Is(err, context.Canceled) {
		t.Error("the end of the context is an error")
	}
}
