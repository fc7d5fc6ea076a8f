package observe

import (
	"context"
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
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestSecretsOfPodsAreFoundAndReadOnce(t *testing.T) {
	t.Parallel()
	changed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var reads atomic.Int32
	server := httptest.NewServer(kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		name := path[strings.LastIndex(path, "/")+1:]
		switch name {
		case "missing":
			return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
				Details: &metav1.StatusDetails{Kind: "secrets", Name: name}}
		case "denied":
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		reads.Add(1)
		return http.StatusOK, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(changed.Add(-time.Hour)),
				ManagedFields: []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(changed))}}},
			Data: map[string][]byte{"key": []byte("value-of-" + name)}}
	}})
	t.Cleanup(server.Close)
	c := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"}).WithClock(&kubetest.Clock{})
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	spec := corev1.PodSpec{
		InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("all-of")}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "A", Value: "plain"}, {Name: "B",
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: ref("one-of")}}}}}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "mounted"}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{
					{Secret: &corev1.SecretProjection{LocalObjectReference: ref("projected")}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: ref("missing")}}}}}},
		},
	}
	secrets := NewSecrets(c, []byte("name-of-one-of-them"))
	for range 2 {
		mask, err := secrets.Mask(t.Context(), "ml", &spec, ready.Starts{})
		if err != nil {
			t.Fatal(err)
		}
		text := "value-of-all-of, value-of-one-of, value-of-mounted, value-of-projected, name-of-one-of-them, plain"
		if got := mask(text); got != "(hidden), (hidden), (hidden), (hidden), (hidden), plain" {
			t.Errorf("got %s", got)
		}
	}
	if reads.Load() != 4 {
		t.Errorf("%d reads", reads.Load())
	}
	for name, c := range map[string]struct {
		secret  string
		started time.Time
		want    string
	}{
		"changed before the start": {"mounted", changed.Add(time.Second), ""},
		"changed at the start":     {"mounted", changed, ""},
		"changed after the start":  {"mounted", changed.Add(-time.Second), "Secret ml/mounted was changed at 2026"},
		"deleted":                  {"missing", changed, "Secret ml/missing does not exist"},
		"deleted before the start": {"missing", time.Time{}, ""},
	} {
		pod := corev1.PodSpec{Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: c.secret}}}}}
		for range 2 {
			mask, err := secrets.Mask(t.Context(), "ml", &pod, ready.Starts{First: c.started})
			if text := fmt.Sprint(err); mask == nil || c.want == "" && err != nil || !strings.Contains(text, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	spec.Volumes[0].Secret.SecretName = "denied"
	mask, err := secrets.Mask(t.Context(), "ml", &spec, ready.Starts{})
	if kube.ClassOf(err) != kube.Denied {
		t.Fatalf("got %v", err)
	}
	if got := mask("value-of-one-of, another text"); got != "(hidden), another text" {
		t.Errorf("after an error: %s", got)
	}
}

// A container that has started since a Secret was read has the values of a later time.
func TestSecretsAreReadAgainForContainersThatHaveStartedSince(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := clocktesting.NewFakeClock(began)
	value := "first-value"
	server := httptest.NewServer(kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		return http.StatusOK, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: "token", CreationTimestamp: metav1.NewTime(began.Add(-time.Hour)),
				ManagedFields: []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(clock.Now().Add(-time.Hour)))}}},
			Data: map[string][]byte{"key": []byte(value)}}
	}})
	t.Cleanup(server.Close)
	c := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x"}).WithClock(clock)
	spec := corev1.PodSpec{Volumes: []corev1.Volume{
		{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "token"}}}}}
	secrets := NewSecrets(c)
	for _, step := range []struct {
		value   string
		started time.Duration
		want    string
	}{
		{"first-value", 0, "(hidden), second-value"},
		{"second-value", 0, "(hidden), second-value"}, // not read again
		{"second-value", 2 * time.Hour, "(hidden), (hidden)"},
	} {
		value = step.value
		started := ready.Starts{First: began.Add(-time.Minute), Last: began.Add(step.started - time.Minute)}
		mask, err := secrets.Mask(t.Context(), "ml", &spec, started)
		if err != nil {
			t.Fatal(err)
		}
		if got := mask("first-value, second-value"); got != step.want {
			t.Errorf("after %v: %s, want %s", step.started, got, step.want)
		}
		clock.Step(time.Hour)
	}
}

// crashed imitates an API server with a pod that crashed, its log, and its Secrets "hf" and, if readable, "wandb".
func crashed(readable bool) http.Handler {
	fromSecret := func(name string) corev1.EnvFromSource {
		return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
	}
	values := map[string]string{"hf": "4f1c9a7be2", "wandb": "zq83hd02nxv5"}
	api := kubetest.API{Answer: func(_, path string, _ *http.Request) (int, any) {
		switch name := path[strings.LastIndex(path, "/")+1:]; {
		case strings.HasSuffix(path, "/pods/trainer-0"):
			return http.StatusOK, corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{Name: "trainer-0", Namespace: "ml"},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kubetorch",
					EnvFrom: []corev1.EnvFromSource{fromSecret("hf"), fromSecret("wandb")}}}}}
		case name == "hf", name == "wandb" && readable:
			return http.StatusOK, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ml"},
				Data:       map[string][]byte{"key": []byte(values[name])}}
		default:
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/log") {
			_, _ = w.Write([]byte("login with 4f1c9a7be2 and zq83hd\x1b[0m02nxv5\nexit\n"))
			return
		}
		api.ServeHTTP(w, request)
	})
}

func TestLogOfAFailureIsMaskedOrSaysWhatIsNot(t *testing.T) {
	t.Parallel()
	const denied = "values of Secrets cannot be masked: read Secret ml/wandb: "
	masked := []string{"Its last message: (hidden) and (hidden)", "Unhealthy: (hidden)",
		"login with (hidden) and (hidden)", "exit"}
	partly := []string{"Its last message: (hidden) and zq83hd02nxv5", "Unhealthy: (hidden)",
		"login with (hidden) and zq83hd02nxv5", "exit", "(" + denied}
	hidden := []string{"Container kubetorch failed. Its output is not shown, because " + denied}
	withoutLog := func(texts []string) []string { return slices.Delete(slices.Clone(texts), 2, 4) }
	for name, test := range map[string]struct {
		readable, strict bool
		err              error
		want             []string // each at the start of the summary, an event or a line
	}{
		"all Secrets can be read":                     {true, false, nil, masked},
		"strict, and all can be read":                 {true, true, nil, masked},
		"a Secret cannot be read":                     {false, false, nil, partly},
		"strict, and one cannot be read":              {false, true, nil, hidden},
		"interrupted":                                 {true, false, context.Canceled, withoutLog(masked)},
		"interrupted, and a Secret cannot be read":    {false, false, context.Canceled, withoutLog(partly)},
		"interrupted, strict, and one cannot be read": {false, true, context.Canceled, hidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(crashed(test.readable))
			t.Cleanup(server.Close)
			c := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x",
				RequireMaskedLogs: test.strict}).WithClock(&kubetest.Clock{})
			cause := ready.Cause{Summary: "Its last message: 4f1c9a7be2 and zq83hd02nxv5",
				Events: []string{"Unhealthy: 4f1c9a7be2"},
				Logs:   &ready.LogRef{Namespace: "ml", Pod: "trainer-0", Container: "kubetorch"}}
			trainer := kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"}
			err := notReady(t.Context(), c, trainer, ready.Verdict{Cause: &cause}, test.err)
			failed, ok := err.(*NotReadyError) //nolint:errorlint // created by notReady
			if !ok {
				t.Fatal(err)
			}
			shown := failed.Verdict.Cause
			got := slices.Concat([]string{shown.Summary}, shown.Events, failed.Logs)
			if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !strings.Contains(cause.Summary+cause.Events[0], "4f1c9a7be2 and") {
				t.Error("the observed cause was changed")
			}
		})
	}
}
