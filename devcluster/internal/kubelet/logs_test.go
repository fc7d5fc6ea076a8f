package kubelet

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const traceback = `INFO:     starting the server
Traceback (most recent call last):
  File "/app/server.py", line 3, in <module>
    import kubetorch
ModuleNotFoundError: No module named 'kubetorch'
`

// TestLogHandler requests the logs of pods at some time after their start.
func TestLogHandler(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		image string
		after time.Duration
		query string
		code  int
		want  string
	}{
		"a healthy container":    {"nginx", 0, "", 200, "fake container c0 started; nothing runs on this node\n"},
		"a crash, backing off":   {"broken.invalid/crash", 6 * time.Second, "", 200, traceback},
		"a crash, just exited":   {"broken.invalid/crash", time.Second, "", 200, traceback},
		"a crash, still running": {"broken.invalid/crash", 0, "", 200, "INFO:     starting the server\n"},
		"the run before":         {"broken.invalid/crash", 6 * time.Second, "previous=true", 200, traceback},
		"no run before": {"broken.invalid/crash", 0, "previous=true", 400,
			"previous terminated container \"c0\" in pod \"pod\" not found"},
		"the last lines": {"broken.invalid/crash", 6 * time.Second, "tailLines=1", 200,
			"ModuleNotFoundError: No module named 'kubetorch'\n"},
		"no lines":        {"broken.invalid/crash", 6 * time.Second, "tailLines=0", 200, ""},
		"the first bytes": {"broken.invalid/crash", 6 * time.Second, "limitBytes=4", 200, "INFO"},
		"with times": {"broken.invalid/crash", 0, "timestamps=true", 200,
			"2026-01-02T03:04:05Z INFO:     starting the server\n"},
		"since a time": {"broken.invalid/crash", 6 * time.Second, "sinceTime=2026-01-02T03:04:08Z&tailLines=1", 200,
			"ModuleNotFoundError: No module named 'kubetorch'\n"},
		"since a later time":  {"broken.invalid/crash", 6 * time.Second, "sinceTime=2026-01-02T04:00:00Z", 200, ""},
		"of the last seconds": {"broken.invalid/crash", 6 * time.Second, "sinceSeconds=1", 200, ""},
		"of many seconds": {"broken.invalid/crash", 6 * time.Second, "sinceSeconds=9000000000&tailLines=1", 200,
			"ModuleNotFoundError: No module named 'kubetorch'\n"},
		"an OOM kill": {"broken.invalid/oom", 6 * time.Second, "", 200,
			"INFO:     starting the server\nINFO:     loading model weights into memory\n"},
		"an image that fails": {"broken.invalid/pull", 0, "", 400,
			"container \"c0\" in pod \"pod\" is waiting to start: image can't be pulled"},
		"an image in back-off": {"broken.invalid/pull", 5 * time.Second, "", 400,
			"container \"c0\" in pod \"pod\" is waiting to start: trying and failing to pull image"},
		"a wrong configuration": {"broken.invalid/config", 0, "", 400,
			"container \"c0\" in pod \"pod\" is waiting to start: CreateContainerConfigError"},
		"an option that is wrong": {"nginx", 0, "tailLines=x", 400, "tailLines=\"x\" is not a non-negative integer"},
		"a missing container": {"nginx", 0, "container=other", 400,
			"container \"other\" in pod \"pod\" is not available"},
		"a missing pod": {"nginx", 0, "pod=other", 404, "pod does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := podOf(c.image)
			// Process all changes until then, like the controller does.
			for elapsed := time.Duration(0); elapsed <= c.after; {
				result := syncOnce(t, pod, none{}, epoch.Add(elapsed))
				pod.Status = result.Status
				if result.Again == 0 {
					break
				}
				elapsed += result.Again
			}
			server := httptest.NewServer(LogHandler(func(namespace, name string) *corev1.Pod {
				if namespace == "ns" && name == "pod" {
					return pod
				}
				return nil
			}))
			t.Cleanup(server.Close)
			query, err := url.ParseQuery(c.query)
			if err != nil {
				t.Fatal(err)
			}
			podName, container := "pod", "c0"
			if query.Has("pod") {
				podName = query.Get("pod")
			}
			if query.Has("container") {
				container = query.Get("container")
			}
			response, err := http.Get(fmt.Sprintf("%s/containerLogs/ns/%s/%s?%s", server.URL, podName, container,
				c.query))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != c.code || string(body) != c.want {
				t.Errorf("%d %q, %v; want %d %q", response.StatusCode, body, err, c.code, c.want)
			}
		})
	}
}

func TestLogHandlerFollowsUntilTheClientDisconnects(t *testing.T) {
	t.Parallel()
	pod := podOf("nginx")
	pod.Status = syncOnce(t, pod, none{}, epoch).Status
	server := httptest.NewServer(LogHandler(func(string, string) *corev1.Pod { return pod }))
	t.Cleanup(server.Close) // waits for the handler, which returns only if it has noticed the disconnect
	response, err := http.Get(server.URL + "/containerLogs/ns/pod/c0?follow=true")
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("fake container"))
	if _, err := io.ReadFull(response.Body, line); err != nil || string(line) != "fake container" {
		t.Errorf("%q, %v", line, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzParseLogOptions(f *testing.F) {
	for _, query := range []string{"previous=true&tailLines=3", "sinceSeconds=9223372036854775807", "limitBytes=-1",
		"sinceTime=x", "follow=", "timestamps=1"} {
		f.Add(query)
	}
	lines := logLines(podOf("broken.invalid/crash").Spec.Containers[0], epoch, epoch.Add(time.Second))
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		opts, err := parseLogOptions(query, epoch)
		if err != nil {
			return
		}
		out := string(opts.render(lines))
		if opts.tail >= 0 && int64(strings.Count(out, "\n")) > opts.tail ||
			opts.limit >= 0 && int64(len(out)) > opts.limit {
			t.Fatalf("%q: %+v renders %q", text, opts, out)
		}
	})
}
