package observe

import (
	"context"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Mask removes secret values from a text.
type Mask func(text string) string

// Secrets creates the masks for the output of pods. It reads each Secret once, and is safe for concurrent use.
type Secrets struct {
	cluster *kube.Cluster

	mu     sync.Mutex
	values map[string][][]byte // by namespace/name
	masks  map[string]Mask     // by the names of all Secrets of a pod
}

// NewSecrets returns Secrets of a cluster.
func NewSecrets(c *kube.Cluster) *Secrets {
	return &Secrets{cluster: c, values: map[string][][]byte{}, masks: map[string]Mask{}}
}

// Mask returns the mask for the output of a pod: it hides the values of the Secrets that the environment and the
// volumes of its containers use. A missing Secret is ignored. After an error, it hides only the values that could be
// read. Errors are of type *kube.Error, with the class Denied without permission to get a Secret.
func (s *Secrets) Mask(ctx context.Context, namespace string, pod *corev1.PodSpec) (Mask, error) {
	names, _ := ready.References(pod)
	key := namespace + "/" + strings.Join(names, ",")
	s.mu.Lock()
	defer s.mu.Unlock()
	if mask, ok := s.masks[key]; ok {
		return mask, nil
	}
	var values [][]byte
	var unread error
	for _, name := range names {
		ref := kube.SecretRef(namespace, name)
		if _, known := s.values[ref.Key()]; !known {
			secret, err := s.cluster.GetSecret(ctx, ref)
			if err != nil && !kube.IsNotFound(err) {
				unread = err
				continue
			}
			s.values[ref.Key()] = kube.SecretValues(secret)
		}
		values = append(values, s.values[ref.Key()]...)
	}
	mask := kube.NewMasker(values).Mask
	if unread == nil {
		s.masks[key] = mask
	}
	return mask, unread
}
