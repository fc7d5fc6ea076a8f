package kube

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// counting is a credential plugin whose tokens are token-1, token-2 and so on.
type counting struct{ dir string }

// script returns the program. Its credentials say when they expire, or nothing if expiry is zero.
func (p counting) script(t *testing.T, expiry time.Time) (file string) {
	t.Helper()
	status := `\"token\": \"token-$n\"`
	if !expiry.IsZero() {
		status += fmt.Sprintf(`, \"expirationTimestamp\": \"%s\"`, expiry.UTC().Format(time.RFC3339))
	}
	script := "#!/bin/sh\ncd '" + p.dir + "'\necho >>calls\nn=$(wc -l <calls | tr -d ' ')\n" +
		`echo "{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", \"status\": {` +
		status + "}}\"\n"
	file = filepath.Join(p.dir, "plugin.sh")
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// withPlugin returns the cluster of a server, with the credentials of a program.
func withPlugin(t *testing.T, command string, server *httptest.Server) *Cluster {
	t.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return NewCluster(t.Context(), config.Config{
		Host: server.URL, ClusterCACertificate: string(authority),
		Env:  config.Env{Getenv: func(string) string { return "" }},
		Exec: &config.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: command},
	}).WithClock(&kubetest.Clock{})
}

// calls returns how often the plugin ran.
func (p counting) calls(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "calls"))
	if err != nil {
		t.Error(err)
	}
	return strings.Count(string(data), "\n")
}

// accepting returns an API server that accepts only one token, and the number of its other responses, which are 401.
// It uses TLS, because client-go calls no plugin without it.
func accepting(t *testing.T, token func() string) (server *httptest.Server, rejections *atomic.Int32) {
	t.Helper()
	rejections = &atomic.Int32{}
	server = httptest.NewTLSServer(&flaky{strike: func(_ int32, request *http.Request) kubetest.Fault {
		if request.Header.Get("Authorization") == "Bearer "+token() {
			return nil
		}
		rejections.Add(1)
		return kubetest.Status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	}})
	t.Cleanup(server.Close)
	return server, rejections
}

func TestCredentialThatIsRevokedDuringTheRunIsReplaced(t *testing.T) {
	t.Parallel()
	var number atomic.Int32 // of the token that the server accepts
	number.Store(1)
	server, rejections := accepting(t, func() string { return fmt.Sprintf("token-%d", number.Load()) })
	plugin := counting{t.TempDir()}
	cluster := withPlugin(t, plugin.script(t, time.Time{}), server)
	if _, err := cluster.API.Get(t.Context(), trainer()); err != nil {
		t.Fatal(err)
	}
	for verb, send := range verbs() {
		if verb == "read" {
			continue // its watch sends requests of its own
		}
		want := number.Add(1)
		if err := send(t.Context(), cluster); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if calls, rejected := plugin.calls(t), rejections.Swap(0); calls != int(want) || rejected != 1 {
			t.Fatalf("%s: the plugin ran %d times after %d rejections, want %d times after 1", verb, calls, rejected,
				want)
		}
	}
}

func TestExpiredCredentialIsReplacedBeforeItIsRejected(t *testing.T) {
	t.Parallel()
	plugin := counting{t.TempDir()}
	server, rejections := accepting(t, func() string { return fmt.Sprintf("token-%d", plugin.calls(t)) })
	cluster := withPlugin(t, plugin.script(t, time.Now().Add(-time.Minute)), server)
	for range 3 {
		before := rejections.Load()
		if _, err := cluster.API.Get(t.Context(), trainer()); err != nil || rejections.Load() > before {
			t.Errorf("after %d rejections: %v", rejections.Load(), err)
		}
	}
	if calls := plugin.calls(t); calls != 4 { // once before the first request, whose time does not include it
		t.Errorf("the plugin ran %d times for 3 requests", calls)
	}
}

func TestPluginWhoseCredentialsAreRejectedIsNotAskedForever(t *testing.T) {
	t.Parallel()
	server, rejections := accepting(t, func() string { return "another token" })
	plugin := counting{t.TempDir()}
	cluster := withPlugin(t, plugin.script(t, time.Time{}), server)
	_, err := cluster.API.Get(t.Context(), trainer())
	if ClassOf(err) != Unauthorized || rejections.Load() != 2 || plugin.calls(t) > 3 {
		t.Errorf("%d rejections, %d calls of the plugin: %v", rejections.Load(), plugin.calls(t), err)
	}
}

// TestFailingWebhookIsRetriedAndNamed is about a webhook that does not respond, with failurePolicy Fail. The API server
// responds 500 then. Unlike a rejection, this may be temporary.
func TestFailingWebhookIsRetriedAndNamed(t *testing.T) {
	t.Parallel()
	const message = `Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: ` +
		`Post "https://check.policies.svc:443/validate?timeout=10s": connect: connection refused`
	fails := kubetest.StatusWith(http.StatusInternalServerError, metav1.StatusReasonInternalError, message)
	for _, verb := range []string{"apply", "dry run", "patch", "delete", "apply a Secret", "dry run of a Secret",
		"remove keys of a Secret"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			send := verbs()[verb]
			var writes atomic.Int32
			failing := func(most int32) *flaky {
				writes.Store(0)
				return &flaky{strike: func(_ int32, request *http.Request) kubetest.Fault {
					if request.Method == http.MethodGet || writes.Add(1) > most {
						return nil
					}
					return fails
				}}
			}
			if err := send(t.Context(), clusterOf(t, failing(1))); err != nil || writes.Load() != 2 {
				t.Errorf("the webhook responds again, but after %d writes: %v", writes.Load(), err)
			}
			err := send(t.Context(), clusterOf(t, failing(math.MaxInt32)))
			var failure *Error
			if !errors.As(err, &failure) || failure.Class != Other || OutcomeUnknown(err) {
				t.Fatalf("got class %d: %v", ClassOf(err), err)
			}
			if writes.Load() != 4 {
				t.Errorf("it was sent %d times", writes.Load())
			}
			summary, detail := explained(failure)
			for _, want := range []string{"check.example.com", "validatingwebhookconfigurations"} {
				if !strings.Contains(summary+detail, want) {
					t.Errorf("the error does not name %s:\n%s\n%s", want, summary, detail)
				}
			}
		})
	}
}

func TestPluginThatHangsDoesNotHoldUpTheEndOfARun(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]int{"at the first request": 1, "to replace rejected credentials": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugin := counting{t.TempDir()}
			command := plugin.script(t, time.Time{})
			data, err := os.ReadFile(command)
			if err != nil {
				t.Fatal(err)
			}
			hang := fmt.Sprintf("[ $n != %d ] || { echo $$ >pid; exec sleep 1000; }\necho \"{", run)
			script := strings.Replace(string(data), "echo \"{", hang, 1)
			if err := os.WriteFile(command, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(func() { endProcess(t, filepath.Join(plugin.dir, "pid")) })
			go func() {
				defer cancel()
				for ctx.Err() == nil {
					if text, err := os.ReadFile(filepath.Join(plugin.dir, "pid")); err == nil && len(text) > 0 {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			server, _ := accepting(t, func() string { return "none" })
			if _, err = withPlugin(t, command, server).API.Get(ctx, trainer()); ClassOf(err) != Canceled {
				t.Errorf("%v is of class %v", err, ClassOf(err))
			}
		})
	}
}

// endProcess ends the process whose ID is in a file.
func endProcess(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Error(err)
	}
}
