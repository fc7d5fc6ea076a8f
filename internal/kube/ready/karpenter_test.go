package ready

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestLabelsThatNoNodePoolCanProvide(t *testing.T) {
	t.Parallel()
	const product, zone = "nvidia.com/gpu.product", "topology.kubernetes.io/zone"
	pool := func(labels, requirements string) string {
		return "{apiVersion: karpenter.sh/v1, kind: NodePool, spec: {template: {metadata: {labels: {" + labels +
			"}}, spec: {requirements: [" + requirements + "]}}}}"
	}
	l4 := pool(product+": L4", "")
	for name, test := range map[string]struct {
		pools    []string
		selector map[string]string
		want     string
	}{
		"no pools":                     {nil, map[string]string{product: "L4"}, ""},
		"no selector":                  {[]string{l4}, nil, ""},
		"a label of the pool":          {[]string{l4}, map[string]string{product: "L4"}, ""},
		"another value":                {[]string{l4}, map[string]string{product: "L44"}, product + "=L44"},
		"a label of another pool":      {[]string{pool("", ""), l4}, map[string]string{product: "L4"}, ""},
		"a label that no pool defines": {[]string{pool("", "")}, map[string]string{product: "L4"}, product + "=L4"},
		"a well-known label":           {[]string{pool("", "")}, map[string]string{zone: "a"}, ""},
		"a label of a cloud": {[]string{pool("", "")},
			map[string]string{"karpenter.k8s.aws/instance-gpu-name": "l4"}, ""},
		"a well-known label, limited": {[]string{pool("", "{key: "+zone+", operator: In, values: [b]}")},
			map[string]string{zone: "a"}, zone + "=a"},
		"one of several values": {[]string{pool("", "{key: a, operator: In, values: [b, c]}")},
			map[string]string{"a": "c"}, ""},
		"an excluded value": {[]string{pool("", "{key: a, operator: NotIn, values: [b]}")},
			map[string]string{"a": "b"}, "a=b"},
		"not an excluded value": {[]string{pool("", "{key: a, operator: NotIn, values: [b]}")},
			map[string]string{"a": "c"}, ""},
		"any value": {[]string{pool("", "{key: a, operator: Exists}")},
			map[string]string{"a": "c"}, ""},
		"a number": {[]string{pool("", "{key: a, operator: Gt, values: [\"1\"]}")},
			map[string]string{"a": "2"}, ""},
		"no value": {[]string{pool("", "{key: a, operator: DoesNotExist}")},
			map[string]string{"a": "c"}, "a=c"},
		"two requirements": {[]string{pool("", "{key: a, operator: Exists}, {key: a, operator: In, values: [b]}")},
			map[string]string{"a": "c"}, "a=c"},
		"a pool that cannot be decoded": {[]string{"{apiVersion: karpenter.sh/v1, kind: NodePool, spec: 3}"},
			map[string]string{"a": "c"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pools []*unstructured.Unstructured
			for _, text := range test.pools {
				pools = append(pools, parsed(t, text))
			}
			pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: test.selector}}
			if got := missingInPools(pod, pools); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
