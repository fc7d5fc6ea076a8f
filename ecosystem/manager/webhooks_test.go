package manager

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const configurations = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating}
webhooks:
- name: mjob.example.com
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-job}}
- name: mpod.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-pod}}
---
apiVersion: v1
kind: Service
metadata: {name: webhook-service}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating}
webhooks:
- name: vjob.example.com
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-job}}
`

func TestRegistrationPointsEveryWebhookAtThisProcess(t *testing.T) {
	t.Parallel()
	server := testServer(t)
	file := write(t, configurations)
	r, err := OwnPods("job").registration("own", file, server)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"own-mutating":   {"/mutate-job", "/mutate-pod", "/marker/own-mutating"},
		"own-validating": {"/validate-job", "/marker/own-validating"},
	}
	if len(r.configurations) != len(want) {
		t.Fatalf("%d configurations; want %d", len(r.configurations), len(want))
	}
	for _, configuration := range r.configurations {
		hooks := webhooksOf(t, configuration)
		paths := want[configuration.GetName()]
		if len(hooks) != len(paths) {
			t.Fatalf("%s has %d webhooks; want %d", configuration.GetName(), len(hooks), len(paths))
		}
		for i, hook := range hooks {
			url, _, _ := unstructured.NestedString(hook, "clientConfig", "url")
			bundle, _, _ := unstructured.NestedString(hook, "clientConfig", "caBundle")
			_, service, _ := unstructured.NestedFieldNoCopy(hook, "clientConfig", "service")
			if url != server.url(paths[i]) || bundle != base64.StdEncoding.EncodeToString(server.ca) || service {
				t.Errorf("%s: clientConfig of %s is %v", configuration.GetName(), hook["name"], hook["clientConfig"])
			}
			_, selected := hook["objectSelector"]
			if narrowed := hook["name"] == "mpod.kb.io" || hook["name"] == markerName; selected != narrowed {
				t.Errorf("%s: objectSelector of %s: %v", configuration.GetName(), hook["name"], hook["objectSelector"])
			}
		}
	}
}

func TestRegistrationRejectsInvalidFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"a file without configurations": {"apiVersion: v1\nkind: Service\n", "no webhook configuration found"},
		"a file that is not YAML":       {"a: [", "converting YAML to JSON"},
		"a webhook without a path": {"kind: MutatingWebhookConfiguration\nmetadata: {name: m}\nwebhooks: [{name: a}]\n",
			"m: webhooks[0] has no clientConfig.service.path"},
		"a webhook that is not an object": {"kind: MutatingWebhookConfiguration\nmetadata: {name: m}\nwebhooks: [3]\n",
			"m: webhooks[0] is not an object"},
		"webhooks that are not a list": {"kind: MutatingWebhookConfiguration\nmetadata: {name: m}\nwebhooks: 3\n",
			"m: "},
		"webhooks reached by a URL only": {"kind: MutatingWebhookConfiguration\nmetadata: {name: m}\nwebhooks: " +
			"[{name: a, clientConfig: {url: https://a}}]\n", "webhooks[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := (&Webhooks{}).registration("own", write(t, c.content), testServer(t))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--webhooks") {
				t.Errorf("error %v; want one with %q", err, c.want)
			}
		})
	}
	if _, err := (&Webhooks{}).registration("own", filepath.Join(t.TempDir(), "none"), testServer(t)); err == nil {
		t.Error("no error for a file that does not exist")
	}
}

func webhooksOf(t *testing.T, configuration *unstructured.Unstructured) []map[string]any {
	t.Helper()
	items, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []map[string]any
	for _, item := range items {
		hook, ok := item.(map[string]any)
		if !ok {
			t.Fatalf("webhook %v", item)
		}
		hooks = append(hooks, hook)
	}
	return hooks
}

func testServer(t *testing.T) *server {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.listener.Close() })
	return s
}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
