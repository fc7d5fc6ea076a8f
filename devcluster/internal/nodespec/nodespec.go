// Package nodespec parses the --node flag of the dev cluster and renders its Node objects.
package nodespec

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// GPUResource is the extended resource that NVIDIA's device plugin registers.
	GPUResource = corev1.ResourceName("nvidia.com/gpu")
	// ProductLabel is the label that NVIDIA's GPU feature discovery sets to the name of the card.
	ProductLabel = "nvidia.com/gpu.product"
	// CountLabel is the label that NVIDIA's GPU feature discovery sets to the number of cards.
	CountLabel = "nvidia.com/gpu.count"
	// ManagedAnnotation marks the nodes that KWOK simulates. Other nodes have a kubelet.
	ManagedAnnotation = "kwok.x-k8s.io/node"
)

// maxGPUs is the maximum number of GPUs of one node: far more than real machines have, and far below an overflow.
const maxGPUs = 1024

// Node is one fake node of the --node flag.
type Node struct {
	Name    string
	GPUs    int64  // 0 for a CPU node
	Product string // value of ProductLabel; no label if empty
	Labels  map[string]string
	Taints  []corev1.Taint
}

// Defaults returns the nodes of a cluster without --node.
func Defaults() []Node {
	return []Node{
		{Name: "h100-0", GPUs: 8, Product: "NVIDIA-H100-80GB-HBM3"},
		{Name: "h100-1", GPUs: 8, Product: "NVIDIA-H100-80GB-HBM3"},
		{Name: "l4-0", GPUs: 4, Product: "NVIDIA-L4"},
		{Name: "cpu-0"},
	}
}

// Parse parses one value of --node: comma-separated key=value pairs of name, gpus,
// product, label.KEY and taint.KEY=VALUE:EFFECT (VALUE may be empty). Errors name
// the invalid part of the value.
func Parse(value string) (Node, error) {
	var node Node
	seen := map[string]bool{}
	for part := range strings.SplitSeq(value, ",") {
		key, val, found := strings.Cut(part, "=")
		if !found || key == "" {
			return Node{}, fmt.Errorf("%q is not key=value; the keys are name, gpus, product, label.KEY and taint.KEY",
				part)
		}
		// One taint key may have several effects, so the complete taint must be unique.
		id := key
		if strings.HasPrefix(key, "taint.") {
			id = part
		}
		if seen[id] {
			return Node{}, fmt.Errorf("%q occurs twice", id)
		}
		seen[id] = true
		if err := node.set(key, val); err != nil {
			return Node{}, fmt.Errorf("%s: %w", part, err)
		}
	}
	if node.Name == "" {
		return Node{}, fmt.Errorf("%q has no name: add name=NAME", value)
	}
	return node, nil
}

// ParseAll parses all values of --node and rejects duplicate names. Without values,
// it returns Defaults.
func ParseAll(values []string) ([]Node, error) {
	if len(values) == 0 {
		return Defaults(), nil
	}
	nodes := make([]Node, 0, len(values))
	names := map[string]bool{}
	for _, value := range values {
		node, err := Parse(value)
		if err != nil {
			return nil, fmt.Errorf("--node: %w", err)
		}
		if names[node.Name] {
			return nil, fmt.Errorf("--node: duplicate name %q: names must be unique", node.Name)
		}
		names[node.Name] = true
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func (n *Node) set(key, val string) error {
	switch {
	case key == "name":
		n.Name = val
		return invalid("a node name", validation.IsDNS1123Subdomain(val))
	case key == "gpus":
		count, err := strconv.ParseInt(val, 10, 64)
		if err != nil || count < 0 || count > maxGPUs {
			return fmt.Errorf("%q is not an integer number of GPUs from 0 to %d", val, maxGPUs)
		}
		n.GPUs = count
		return nil
	case key == "product":
		n.Product = val
		return invalid("a label value", validation.IsValidLabelValue(val))
	case strings.HasPrefix(key, "label."):
		return n.addLabel(strings.TrimPrefix(key, "label."), val)
	case strings.HasPrefix(key, "taint."):
		return n.addTaint(strings.TrimPrefix(key, "taint."), val)
	}
	return fmt.Errorf("unknown key %q; the keys are name, gpus, product, label.KEY and taint.KEY", key)
}

func (n *Node) addLabel(key, val string) error {
	if err := invalid("a label key", validation.IsQualifiedName(key)); err != nil {
		return err
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[key] = val
	return invalid("a label value", validation.IsValidLabelValue(val))
}

func (n *Node) addTaint(key, val string) error {
	if err := invalid("a taint key", validation.IsQualifiedName(key)); err != nil {
		return err
	}
	value, effect, found := strings.Cut(val, ":")
	if !found {
		return fmt.Errorf("%q has no effect: use taint.KEY=VALUE:EFFECT", val)
	}
	switch corev1.TaintEffect(effect) {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		return fmt.Errorf("%q is not a taint effect: use NoSchedule, PreferNoSchedule or NoExecute", effect)
	}
	n.Taints = append(n.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	return invalid("a taint value", validation.IsValidLabelValue(value))
}

func invalid(what string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("not %s: %s", what, strings.Join(problems, "; "))
}

// Object renders the Node object. Its capacity far exceeds the requests of tests, so that only
// GPUs, labels and taints determine where a pod fits, and a thousand pods fit one node.
// kubeletVersion, such as v1.36.3, is the version that the node reports.
func (n Node) Object(kubeletVersion string) *corev1.Node {
	labels := map[string]string{
		corev1.LabelHostname:   n.Name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	size := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("96"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("2000"),
	}
	if n.GPUs > 0 {
		size[GPUResource] = *resource.NewQuantity(n.GPUs, resource.DecimalSI)
		labels[CountLabel] = strconv.FormatInt(n.GPUs, 10)
	}
	if n.Product != "" {
		labels[ProductLabel] = n.Product
	}
	maps.Copy(labels, n.Labels)
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.Name,
			Labels:      labels,
			Annotations: map[string]string{ManagedAnnotation: "fake"},
		},
		Spec: corev1.NodeSpec{Taints: n.Taints},
		Status: corev1.NodeStatus{
			Capacity:    size,
			Allocatable: size.DeepCopy(),
			NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: kubeletVersion},
		},
	}
}
