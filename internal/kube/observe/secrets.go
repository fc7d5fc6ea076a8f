package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Mask removes secret values from a text.
type Mask func(text string) string

// Secrets creates the masks for the output of pods. It reads each Secret once, and again for containers that have
// started since, which have new values of a Secret that has changed. It is safe for concurrent use.
type Secrets struct {
	cluster *kube.Cluster
	others  [][]byte // values that are masked too

	mu    sync.Mutex
	read  map[string]secret // by namespace/name
	masks map[string]Mask   // by the names of all Secrets of a pod
}

// secret is what was read of a Secret.
type secret struct {
	values  [][]byte  // of all times at which it was read
	changed time.Time // before it was first read; zero if it did not exist
	read    time.Time // last
}

// clockSkew is how much the clock of a node may be behind.
const clockSkew = 30 * time.Second

// NewSecrets returns Secrets of a cluster. Their masks also hide the other values: with two masks, one after the other,
// the first one would replace what both values have in common, and the second one would no longer recognize the rest.
func NewSecrets(c *kube.Cluster, others ...[]byte) *Secrets {
	return &Secrets{cluster: c, others: others, read: map[string]secret{}, masks: map[string]Mask{}}
}

// FormerSecretError reports that a container may have values that a Secret no longer has, so that they cannot be
// masked.
type FormerSecretError struct {
	Secret  string // namespace/name
	Changed time.Time
}

func (e *FormerSecretError) Error() string {
	if e.Changed.IsZero() {
		return fmt.Sprintf("Secret %s does not exist, but the pod may have its former values", e.Secret)
	}
	return fmt.Sprintf("Secret %s was changed at %s, and the pod, which has started before, may have its former values",
		e.Secret, e.Changed.UTC().Format(time.RFC3339))
}

// Mask returns the mask for the output of a pod: it hides the values of the Secrets that the environment and the
// volumes of its containers use. After an error, the mask hides only the values that could be read. Errors are of type
// *kube.Error, with the class Denied without permission to get a Secret, or of type *FormerSecretError.
func (s *Secrets) Mask(
	ctx context.Context, namespace string, pod *corev1.PodSpec, started ready.Starts,
) (Mask, error) {
	names, _ := ready.References(pod)
	key := namespace + "/" + strings.Join(names, ",")
	s.mu.Lock()
	defer s.mu.Unlock()
	values := slices.Clone(s.others)
	var unread, former error
	for _, name := range names {
		ref := kube.SecretRef(namespace, name)
		found, known := s.read[ref.Key()]
		if !known || started.Last.After(found.read.Add(-clockSkew)) {
			now := s.cluster.Clock().Now()
			live, err := s.cluster.API.Get(ctx, ref)
			switch {
			case kube.IsNotFound(err):
				found.read = now
			case err != nil:
				unread = err
				continue
			default:
				found = secret{slices.Concat(found.values, kube.SecretValues(live)),
					cmp.Or(found.changed, kube.LastChange(live)), now}
			}
			s.read[ref.Key()] = found
			clear(s.masks)
		}
		values = append(values, found.values...)
		if !started.First.IsZero() && (found.changed.IsZero() || found.changed.After(started.First)) {
			former = &FormerSecretError{namespace + "/" + name, found.changed}
		}
	}
	if unread != nil {
		return kube.NewMasker(values).Mask, unread
	}
	if s.masks[key] == nil {
		s.masks[key] = kube.NewMasker(values).Mask
	}
	return s.masks[key], former
}
