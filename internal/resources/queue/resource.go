// Package queue implements the resource kt_queue.
package queue

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks are the part of the life cycle that is specific to queues.
type hooks struct{}

// privateState is what the provider remembers of a queue.
type privateState struct {
	// Waiting is true if the last wait did not complete. The next apply then waits again.
	Waiting bool `json:"waiting,omitempty"`
	// Imported contains the keys of the objects that have not been applied since their import. State contains their
	// text from the server.
	Imported []string `json:"imported,omitempty"`
	// Configured is true after an update has applied the settings that no object contains. Before, an import assumes
	// them.
	Configured bool `json:"configured,omitempty"`
}

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

// New returns the resource.
func New() resource.Resource {
	return lifecycle.New[model](resourceKind(), hooks{})
}

// resourceKind describes the resource, with the default timeouts of its operations. They end waits for the cluster.
func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: tf.QueueType, Noun: "queue", Example: "vision",
		Description: description, Attributes: attributes, Masked: true,
		Apply:  2 * time.Minute,  // Kueue reacts in seconds
		Delete: 10 * time.Minute, // admitted workloads have to finish

		HasUID: hasQuotas, Imports: isImported, Owner: ownerOf,
	}
}

// spec is the input of the renderer of the queue's scheduler.
type spec struct {
	kueue.Queue
	KAI *kai.Queue // nil for a queue of Kueue
}

func (s spec) render() ([]*unstructured.Unstructured, error) {
	if s.KAI != nil {
		return kai.Render(*s.KAI)
	}
	return kueue.Render(s.Queue)
}

func (s spec) validate() manifest.Errors {
	if s.KAI != nil {
		return kai.Validate(*s.KAI)
	}
	return kueue.Validate(s.Queue)
}

// observed is the inverse of render.
func observed(objects []*unstructured.Unstructured) spec {
	out := spec{Queue: kueue.Observe(objects)}
	for _, obj := range objects {
		if isKAIQueue(obj) {
			queue := kai.Observe(obj)
			out.Labels, out.Annotations = queue.Labels, queue.Annotations
			queue.Labels, queue.Annotations = nil, nil // attributes that both schedulers have
			out.KAI = &queue
		}
	}
	return out
}

// Validate checks the rules of the scheduler for combinations of attributes.
func (hooks) Validate(ctx context.Context, known *model, rules lifecycle.Validation) diag.Diagnostics {
	wanted, invalid := known.spec(ctx, tf.Defaults{}) // the rules do not depend on the provider block
	rules.Hidden.Add(invalid)
	return renderErrors(wanted.validate().Known(rules.Hidden.Has))
}

// renderErrors returns each error of the renderer as a diagnostic of its attribute.
func renderErrors(err error) diag.Diagnostics {
	return tf.AttributeErrors("The objects of this queue cannot be rendered", err)
}
