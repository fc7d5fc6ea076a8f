// Package secret implements the resource kt_secret. It passes the values of a Secret only to the cluster, never to
// state, plans, logs or errors. The only exception is the attribute values, which Terraform stores.
package secret

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// timeLimit is the default timeout of an operation, which sends only a few requests. A deletion also waits for
// finalizers.
const timeLimit = 5 * time.Minute

// hooks are the part of the life cycle that is specific to secrets.
type hooks struct{}

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
		Type: "kt_secret", Noun: "secret", Example: "huggingface",
		Description: description, Attributes: attributes,
		Create: timeLimit, Update: timeLimit, Delete: timeLimit,
		FromConfig: []string{"values_wo"},
		Moves:      func(of schema.GroupKind) bool { return of == kind.Secret().GroupKind() },
	}
}
