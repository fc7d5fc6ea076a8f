package kai_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// simulator simulates the webhook and the controller for Queues of KAI, which is not available as a Go module. The
// rules are those of the queue validator and pkg/queuecontroller in https://github.com/kai-scheduler/KAI-Scheduler.
// Like a default installation, it does not compare a Queue with its parent, except for Queues with validationLabel.
type simulator struct{ queues dynamic.ResourceInterface }

// controllerDelay is the time until the controller notices a change. Until then, the status of a Queue is old.
const controllerDelay = time.Second

// queue contains the fields of a Queue that the simulator reads.
type queue struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		ParentQueue string `json:"parentQueue"`
		Resources   *struct {
			GPU    share `json:"gpu"`
			CPU    share `json:"cpu"`
			Memory share `json:"memory"`
		} `json:"resources"`
	} `json:"spec"`
	Status struct {
		ChildQueues []string `json:"childQueues"`
	} `json:"status"`
}

type share struct {
	Quota float64 `json:"quota"`
}

// withKAI returns the cluster with the CRD of Queues, after the simulator has started.
func withKAI(t *testing.T) *acctest.Cluster {
	t.Helper()
	cluster.Started(t)
	start.Do(func() {
		cluster.Kubectl(t, "apply", "--server-side", "-f", "testdata/queue-crd.yaml")
		cluster.Established(t, "queues.scheduling.run.ai")
		config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
		if err != nil {
			t.Fatal(err)
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		s := simulator{client.Resource(schema.GroupVersionResource{Group: "scheduling.run.ai", Version: "v2",
			Resource: "queues"})}
		register(t, httptest.NewTLSServer(http.HandlerFunc(s.admit)))
		go s.control(context.WithoutCancel(t.Context()))
	})
	return cluster
}

var start sync.Once

// register makes the API server ask the webhook, and waits until it does.
func register(t *testing.T, server *httptest.Server) {
	t.Helper()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	cluster.Apply(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: kai-queues }
webhooks:
  - name: queues.kai.test
    sideEffects: None
    admissionReviewVersions: [v1]
    clientConfig: { url: %q, caBundle: %s }
    rules:
      - { apiGroups: [scheduling.run.ai], apiVersions: [v2], resources: [queues], operations: [CREATE, UPDATE, DELETE] }
`, server.URL, base64.StdEncoding.EncodeToString(certificate)))
	cluster.WaitForOutput(t, missingResources, true, "create", "--dry-run=server", "-f", "testdata/probe.yaml")
}

// admit responds to a request of the API server.
func (s simulator) admit(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	warnings, err := s.validate(r.Context(), review.Request)
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: err == nil, Warnings: warnings}
	if err != nil {
		review.Response.Result = &metav1.Status{Code: http.StatusForbidden, Message: err.Error(),
			Reason: metav1.StatusReasonForbidden}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// validationLabel makes the simulator treat a Queue like KAI with the flag --enable-quota-validation.
const validationLabel = "kai.test/quota-validation"

const missingResources = "resources must be specified"

func (s simulator) validate(ctx context.Context, request *admissionv1.AdmissionRequest) ([]string, error) {
	if request.Operation == admissionv1.Delete {
		deleted, err := decode(request.OldObject)
		if err == nil && len(deleted.Status.ChildQueues) > 0 {
			err = fmt.Errorf("cannot delete queue %s: it has child queues %v", deleted.Metadata.Name,
				deleted.Status.ChildQueues)
		}
		return nil, err
	}
	q, err := decode(request.Object)
	if err != nil {
		return nil, err
	}
	if q.Spec.Resources == nil {
		return nil, errors.New(missingResources)
	}
	if _, validated := q.Metadata.Labels[validationLabel]; q.Spec.ParentQueue == "" || !validated {
		return nil, nil
	}
	return s.compare(ctx, q)
}

// compare compares the quotas with those of the parent queue.
func (s simulator) compare(ctx context.Context, q queue) ([]string, error) {
	found, err := s.queues.Get(ctx, q.Spec.ParentQueue, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to get parent queue %s: %w", q.Spec.ParentQueue, err)
	}
	parent, err := convert(found)
	if err != nil {
		return nil, err
	}
	if parent.Spec.Resources == nil {
		return nil, fmt.Errorf("parent queue %s has no resources defined", parent.Metadata.Name)
	}
	var warnings []string
	mine, theirs := *q.Spec.Resources, *parent.Spec.Resources
	for _, resource := range []struct {
		name         string
		mine, theirs share
	}{{"CPU", mine.CPU, theirs.CPU}, {"GPU", mine.GPU, theirs.GPU}, {"Memory", mine.Memory, theirs.Memory}} {
		if resource.mine.Quota > resource.theirs.Quota {
			warnings = append(warnings, fmt.Sprintf("child queue %s quota (%g) exceeds parent queue %s %[1]s quota "+
				"(%[4]g)", resource.name, resource.mine.Quota, parent.Metadata.Name, resource.theirs.Quota))
		}
	}
	return warnings, nil
}

// control updates the status of the Queues until the process ends.
func (s simulator) control(ctx context.Context) {
	for range time.Tick(controllerDelay) {
		list, err := s.queues.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // the cluster stops
		}
		children := map[string][]string{}
		for i := range list.Items {
			if q, err := convert(&list.Items[i]); err == nil {
				children[q.Spec.ParentQueue] = append(children[q.Spec.ParentQueue], q.Metadata.Name)
			}
		}
		for i := range list.Items {
			s.update(ctx, &list.Items[i], children[list.Items[i].GetName()])
		}
	}
}

// update sets the child queues, and an allocation of one GPU.
func (s simulator) update(ctx context.Context, obj *unstructured.Unstructured, children []string) {
	found, _, _ := unstructured.NestedStringSlice(obj.Object, "status", "childQueues")
	slices.Sort(children)
	if _, known := obj.Object["status"]; known && slices.Equal(found, children) {
		return
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"childQueues": children,
		"allocated": map[string]string{"nvidia.com/gpu": "1"}}})
	if err == nil { // otherwise, and after an error, the next round tries again
		_, _ = s.queues.Patch(ctx, obj.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	}
}

func decode(raw runtime.RawExtension) (q queue, err error) { return q, json.Unmarshal(raw.Raw, &q) }

func convert(obj *unstructured.Unstructured) (q queue, err error) {
	return q, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &q)
}
