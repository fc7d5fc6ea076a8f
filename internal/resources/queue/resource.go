// Package queue implements the resource kt_queue.
package queue

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks are the part of the life cycle that is specific to queues.
type hooks struct{}

// privateState is what the provider remembers of a queue.
type privateState struct {
	// Waiting is true if the last wait did not complete. The next apply then waits again.
	Waiting bool `json:"waiting,omitempty"`
	// Terminating is true if the ClusterQueue, or the Queue of KAI, was being deleted at the last refresh.
	Terminating bool `json:"ending,omitempty"`
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

func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: tf.QueueType, Noun: "queue", Example: "vision",
		Description: description, Attributes: attributes, Masked: true,
		Create: 2 * time.Minute, Update: 2 * time.Minute, // Kueue reacts in seconds
		Delete: 10 * time.Minute, // admitted workloads have to finish

		HasUID: hasQuotas, Owner: ownerOf,
	}
}
