package volume

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

const (
	classesPath = "/apis/storage.k8s.io/v1/storageclasses"
	claimsPath  = "/api/v1/namespaces/ml/persistentvolumeclaims"
	forbidden   = "forbidden"
)

// api serves YAML documents by their path, and records deletions.
type api struct {
	docs    map[string]string
	mu      sync.Mutex
	deleted []string
}

func (a *api) answer(verb, path string, request *http.Request) (int, any) {
	a.mu.Lock()
	doc, found := a.docs[path]
	found = found && !slices.Contains(a.deleted, path)
	if found && verb == "delete" {
		a.deleted = append(a.deleted, path)
	}
	a.mu.Unlock()
	var body map[string]any
	if doc != forbidden {
		if err := yaml.Unmarshal([]byte(doc), &body); err != nil {
			return http.StatusInternalServerError, metav1.Status{Message: err.Error()}
		}
	}
	switch {
	case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
		return kubetest.Reviewed(request, func(string) bool { return false })
	case doc == forbidden:
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	case request.URL.Query().Get("sendInitialEvents") != "":
		return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case verb == "watch":
		<-request.Context().Done()
		return http.StatusOK, nil
	case verb == "list":
		if !found {
			body = map[string]any{"items": []any{}}
		}
		body["apiVersion"], body["kind"], body["metadata"] = "v1", "List", map[string]any{"resourceVersion": "1"}
	case !found:
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
			Details: &metav1.StatusDetails{Kind: "objects", Name: path[strings.LastIndex(path, "/")+1:]}}
	}
	return http.StatusOK, body
}

// clusterOf returns the provider data for a cluster that serves the documents, which have their paths as keys.
func clusterOf(t *testing.T, docs map[string]string) (*tf.ProviderData, *api) {
	t.Helper()
	a := &api{docs: docs}
	server := httptest.NewServer(kubetest.API{Answer: a.answer})
	t.Cleanup(server.Close)
	return dataAt(t, server.URL), a
}

// dataAt returns the provider data for a cluster.
func dataAt(t *testing.T, url string) *tf.ProviderData {
	t.Helper()
	settings := config.Config{Host: url, Token: "x", Env: config.Env{Getenv: func(string) string { return "" }}}
	cluster := kube.NewCluster(t.Context(), settings).WithClock(&kubetest.Clock{})
	return &tf.ProviderData{Run: run.New(t.Context(), cluster, nil)}
}

// classes returns the documents of storage classes. Each argument is the name of a class, a space and its fields as
// YAML. The class "standard" is the default.
func classes(nameAndFields ...string) map[string]string {
	docs := map[string]string{}
	var items []string
	for _, text := range nameAndFields {
		name, fields, _ := strings.Cut(text, " ")
		defaults := ""
		if name == "standard" {
			defaults = `, annotations: {storageclass.kubernetes.io/is-default-class: "true"}`
		}
		doc := "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: " + name +
			`, resourceVersion: "1"` + defaults + "}, " + fields + "}"
		docs[classesPath+"/"+name] = doc
		items = append(items, doc)
	}
	docs[classesPath] = "items: [" + strings.Join(items, ", ") + "]"
	return docs
}

// boundVolume returns the state of a volume of 10Gi that is bound to pv-1.
func boundVolume() *model {
	text := types.StringValue
	return &model{
		Common: lifecycle.Common{Name: text("data"), Namespace: text("ml"), ID: text("ml/data"), UID: text("u-1"),
			Manifests: types.MapNull(types.StringType)},
		Size: tf.QuantityOf("10Gi"), AccessMode: text("ReadWriteOnce"), StorageClass: text("standard"),
		VolumeName: types.StringNull(), MountPath: types.StringNull(),
		claimStatus: claimStatus{Phase: text("Bound"), Capacity: text("10Gi"), BoundVolumeName: text("pv-1")},
	}
}

// messages returns the severities, summaries and details of diagnostics.
func messages(diags diag.Diagnostics) string {
	var out []string
	for _, d := range diags {
		out = append(out, d.Severity().String()+": "+d.Summary()+"\n"+d.Detail())
	}
	return strings.Join(out, "\n")
}

// paths returns the attributes of diagnostics.
func paths(diags diag.Diagnostics) []string {
	var out []string
	for _, d := range diags {
		if at, ok := d.(diag.DiagnosticWithPath); ok {
			out = append(out, at.Path().String())
		}
	}
	return out
}
