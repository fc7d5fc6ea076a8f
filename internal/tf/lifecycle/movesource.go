package lifecycle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// MoveSource is the state of a resource of another provider, as in a request to move it.
type MoveSource struct {
	Provider string // address of the provider: registry.terraform.io/hashicorp/kubernetes
	Type     string // kubernetes_deployment
	State    []byte // JSON; it can contain secret values, so no error may contain a part of it
}

// Moved identifies the Kubernetes object of a resource that a moved block has turned into one of this provider.
type Moved struct {
	From      string `json:"from"` // type of the source
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"` // "" if the state of the source does not contain it
}

// GroupKind returns the kind of the object.
func (m *Moved) GroupKind() schema.GroupKind { return schema.GroupKind{Group: m.Group, Kind: m.Kind} }

func (m *Moved) String() string { return m.Kind + " " + m.Namespace + "/" + m.Name }

var (
	errUnsupportedSource = errors.New("unsupported source")
	errUnknownFormat     = errors.New("unknown format of the state")
)

// movedObject returns the object that a source manages. It returns errUnsupportedSource for a resource type of which
// the state is not known to describe one object.
func movedObject(source MoveSource) (*Moved, error) {
	provider := source.Provider // without its host, because registries mirror providers
	if _, rest, ok := strings.Cut(provider, "/"); ok {
		provider = rest
	}
	read, ok := moveSources()[provider][source.Type]
	if !ok {
		return nil, errUnsupportedSource
	}
	moved, err := read(source.State)
	if err != nil || moved.Kind == "" || moved.Name == "" {
		return nil, errUnknownFormat // err can quote the state
	}
	moved.From = source.Type
	return moved, nil
}

// stateReader returns the object of a resource from its state. It is incomplete if the state has another format.
type stateReader func(state []byte) (*Moved, error)

// moveSources returns the readers by the name of the provider and the resource type.
func moveSources() map[string]map[string]stateReader {
	kubernetes := map[string]stateReader{"kubernetes_manifest": readManifest}
	for of, names := range typedSources() {
		for _, name := range names {
			kubernetes[name] = readMetadata(of)
		}
	}
	kubectl := map[string]stateReader{"kubectl_manifest": readKubectl}
	return map[string]map[string]stateReader{
		"hashicorp/kubernetes":  kubernetes,
		"gavinbunney/kubectl":   kubectl,
		"alekc/kubectl":         kubectl,
		"jmorris0x0/k8sconnect": {"k8sconnect_object": readObjectRef},
	}
}

// typedSources returns the resource types of the Kubernetes provider that are for one kind each, by that kind. Types
// without the suffix _v1 are older names of the same resources.
func typedSources() map[schema.GroupKind][]string {
	return map[schema.GroupKind][]string{
		{Group: "apps", Kind: "Deployment"}:  {"kubernetes_deployment", "kubernetes_deployment_v1"},
		{Group: "apps", Kind: "StatefulSet"}: {"kubernetes_stateful_set", "kubernetes_stateful_set_v1"},
		{Group: "apps", Kind: "DaemonSet"}:   {"kubernetes_daemonset", "kubernetes_daemon_set_v1"},
		{Group: "batch", Kind: "Job"}:        {"kubernetes_job", "kubernetes_job_v1"},
		{Group: "batch", Kind: "CronJob"}:    {"kubernetes_cron_job", "kubernetes_cron_job_v1"},
		kind.Pod().GroupKind():               {"kubernetes_pod", "kubernetes_pod_v1"},
		kind.Secret().GroupKind():            {"kubernetes_secret", "kubernetes_secret_v1"},
		kind.PersistentVolumeClaim().GroupKind(): {
			"kubernetes_persistent_volume_claim", "kubernetes_persistent_volume_claim_v1",
		},
	}
}

// supportedSources returns the names of the resource types that can become a resource for some kinds.
func supportedSources(accepts func(schema.GroupKind) bool) []string {
	names := []string{"kubernetes_manifest", "kubectl_manifest", "k8sconnect_object"}
	for of, typed := range typedSources() {
		if accepts(of) {
			names = append(names, typed...)
		}
	}
	slices.Sort(names)
	return names
}

// metadata is the metadata of a Kubernetes object.
type metadata struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
}

// readMetadata reads the state of a resource type of the Kubernetes provider for one kind. A block is a list.
func readMetadata(of schema.GroupKind) stateReader {
	return func(state []byte) (*Moved, error) {
		var decoded struct {
			Metadata []metadata `json:"metadata"`
		}
		err := json.Unmarshal(state, &decoded)
		if len(decoded.Metadata) != 1 {
			return nil, errUnknownFormat
		}
		return movedOf(of, decoded.Metadata[0]), err
	}
}

// object is a Kubernetes object.
type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
}

// readManifest reads the state of a kubernetes_manifest. Its attribute object is the object that the API server has
// returned; in the state of a failed creation it is null. Terraform stores values of any type with their types.
func readManifest(state []byte) (*Moved, error) {
	var decoded struct {
		Manifest, Object struct {
			Value object `json:"value"`
		}
	}
	err := json.Unmarshal(state, &decoded)
	of := cmp.Or(decoded.Object.Value, decoded.Manifest.Value)
	return movedOf(groupKind(of.APIVersion, of.Kind), of.Metadata), err
}

// readKubectl reads the state of a kubectl_manifest. The attribute namespace is empty if the manifest has none. The ID
// is the path of the object in the API, which contains the namespace in any case.
func readKubectl(state []byte) (*Moved, error) {
	var decoded struct {
		ID         string `json:"id"`
		APIVersion string `json:"api_version"`
		Kind       string `json:"kind"`
		metadata
	}
	err := json.Unmarshal(state, &decoded)
	_, rest, _ := strings.Cut(decoded.ID, "/namespaces/")
	if namespace, _, inNamespace := strings.Cut(rest, "/"); inNamespace {
		decoded.Namespace = namespace
	}
	return movedOf(groupKind(decoded.APIVersion, decoded.Kind), decoded.metadata), err
}

// readObjectRef reads the state of a k8sconnect_object.
func readObjectRef(state []byte) (*Moved, error) {
	var decoded struct {
		Ref struct {
			APIVersion string `json:"api_version"`
			Kind       string `json:"kind"`
			metadata
		} `json:"object_ref"`
	}
	err := json.Unmarshal(state, &decoded)
	return movedOf(groupKind(decoded.Ref.APIVersion, decoded.Ref.Kind), decoded.Ref.metadata), err
}

func groupKind(apiVersion, kindName string) schema.GroupKind {
	return schema.FromAPIVersionAndKind(apiVersion, kindName).GroupKind()
}

func movedOf(of schema.GroupKind, m metadata) *Moved {
	return &Moved{Group: of.Group, Kind: of.Kind, Namespace: m.Namespace, Name: m.Name, UID: m.UID}
}

// unsupported explains why a source cannot be moved to a resource type.
func (k Kind) unsupported(source MoveSource, moved *Moved, err error) string {
	nextStep := fmt.Sprintf("\n\nNext step: Remove the moved block, release the object from its state with a removed "+
		"block, and import it into %s.", k.Type)
	switch {
	case errors.Is(err, errUnsupportedSource):
		return fmt.Sprintf("A %s of the provider %s cannot become a %s. These resource types of hashicorp/kubernetes, "+
			"gavinbunney/kubectl, alekc/kubectl and jmorris0x0/k8sconnect can:\n  %s%s", source.Type, source.Provider,
			k.Type, strings.Join(supportedSources(k.Moves), "\n  "), nextStep)
	case err != nil:
		return fmt.Sprintf("The state of the %s does not contain the identity of one object in a known form. It may "+
			"be of an unknown version of the provider %s, or its creation may have failed.%s", source.Type,
			source.Provider, nextStep)
	case !k.Moves(moved.GroupKind()):
		return fmt.Sprintf("The %s manages a %s (%s), which cannot become a %s.\n\nNext step: Remove the moved block.",
			source.Type, moved.GroupKind(), moved.Name, k.Type)
	default:
		return fmt.Sprintf("The state of the %s contains no namespace for %s %s.%s", source.Type, moved.Kind,
			moved.Name, nextStep)
	}
}
