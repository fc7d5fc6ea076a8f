package nodespec

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestParse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		value string
		want  Node
		err   string // a part of the error
	}{
		"only a name": {value: "name=cpu-0", want: Node{Name: "cpu-0"}},
		"GPUs with a product": {value: "name=g,gpus=8,product=NVIDIA-H100-80GB-HBM3",
			want: Node{Name: "g", GPUs: 8, Product: "NVIDIA-H100-80GB-HBM3"}},
		"order does not matter": {value: "gpus=1,name=g", want: Node{Name: "g", GPUs: 1}},
		"zero GPUs are none":    {value: "name=g,gpus=0", want: Node{Name: "g"}},
		"labels with a prefix": {value: "name=g,label.example.com/pool=a,label.zone=",
			want: Node{Name: "g", Labels: map[string]string{"example.com/pool": "a", "zone": ""}}},
		"a taint": {value: "name=g,taint.team=ml:NoSchedule",
			want: Node{Name: "g", Taints: []corev1.Taint{{Key: "team", Value: "ml",
				Effect: corev1.TaintEffectNoSchedule}}}},
		"a taint without value": {value: "name=g,taint.nvidia.com/gpu=:NoExecute",
			want: Node{Name: "g", Taints: []corev1.Taint{{Key: "nvidia.com/gpu",
				Effect: corev1.TaintEffectNoExecute}}}},
		"one taint key, two effects": {value: "name=g,taint.a=b:NoSchedule,taint.a=b:NoExecute",
			want: Node{Name: "g", Taints: []corev1.Taint{{Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule},
				{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute}}}},
		"nothing":             {value: "", err: `"" is not key=value`},
		"no name":             {value: "gpus=1", err: "has no name"},
		"an empty name":       {value: "name=", err: "not a node name"},
		"an uppercase name":   {value: "name=GPU", err: "not a node name"},
		"a trailing comma":    {value: "name=g,", err: `"" is not key=value`},
		"a key without value": {value: "name=g,gpus", err: `"gpus" is not key=value`},
		"a value without key": {value: "name=g,=8", err: `"=8" is not key=value`},
		"an unknown key":      {value: "name=g,cpus=8", err: `unknown key "cpus"`},
		"a duplicate key":     {value: "name=g,gpus=1,gpus=2", err: `"gpus" occurs twice`},
		"a duplicate taint": {value: "name=g,taint.a=b:NoSchedule,taint.a=b:NoSchedule",
			err: "occurs twice"},
		"GPUs that are not a number":    {value: "name=g,gpus=all", err: `"all" is not an integer number`},
		"a fraction of a GPU":           {value: "name=g,gpus=1.5", err: `"1.5" is not an integer number`},
		"a negative number of GPUs":     {value: "name=g,gpus=-1", err: `"-1" is not an integer number`},
		"more GPUs than any node has":   {value: "name=g,gpus=1025", err: "from 0 to 1024"},
		"a product that is not a label": {value: "name=g,product=NVIDIA H100", err: "not a label value"},
		"a label without key":           {value: "name=g,label.=x", err: "not a label key"},
		"a label key with a space":      {value: "name=g,label.a b=x", err: "not a label key"},
		"a label value with a slash":    {value: "name=g,label.a=x/y", err: "not a label value"},
		"a taint without effect":        {value: "name=g,taint.a=b", err: "has no effect"},
		"an effect that does not exist": {value: "name=g,taint.a=b:NoWay", err: `"NoWay" is not a taint effect`},
		"a lowercase effect":            {value: "name=g,taint.a=b:noschedule", err: "is not a taint effect"},
		"a taint value with a space":    {value: "name=g,taint.a=b c:NoSchedule", err: "not a taint value"},
		"a taint without key":           {value: "name=g,taint.=b:NoSchedule", err: "not a taint key"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(c.value)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("Parse(%q) = %+v, %v; want an error with %q", c.value, got, err, c.err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Fatalf("Parse(%q) = %+v, %v; want %+v", c.value, got, err, c.want)
			}
		})
	}
}

func TestParseAll(t *testing.T) {
	t.Parallel()
	defaults, err := ParseAll(nil)
	if err != nil || !reflect.DeepEqual(defaults, Defaults()) {
		t.Errorf("without any --node: %+v, %v; want the defaults", defaults, err)
	}
	nodes, err := ParseAll([]string{"name=b", "name=a"})
	if want := []Node{{Name: "b"}, {Name: "a"}}; err != nil || !reflect.DeepEqual(nodes, want) {
		t.Errorf("two nodes: %+v, %v; want %+v", nodes, err, want)
	}
	if _, err := ParseAll([]string{"name=a", "name=a"}); err == nil ||
		!strings.Contains(err.Error(), `duplicate name "a"`) {
		t.Errorf("duplicate name: %v", err)
	}
}

func TestObjectOfDefaults(t *testing.T) {
	t.Parallel()
	for _, node := range Defaults() {
		got := node.Object("v1.2.3")
		if got.Name != node.Name || got.Annotations[ManagedAnnotation] != "fake" {
			t.Errorf("%s: name %q, annotations %v", node.Name, got.Name, got.Annotations)
		}
		gpus := got.Status.Allocatable[GPUResource]
		if gpus.Value() != node.GPUs || got.Labels[ProductLabel] != node.Product {
			t.Errorf("%s: %s GPUs of product %q; want %d of %q", node.Name, gpus.String(), got.Labels[ProductLabel],
				node.GPUs, node.Product)
		}
		if pods := got.Status.Capacity[corev1.ResourcePods]; pods.Value() < 1000 {
			t.Errorf("%s: capacity for %s pods, but benchmarks create 1000 on one node", node.Name, pods.String())
		}
		if got.Status.NodeInfo.KubeletVersion != "v1.2.3" {
			t.Errorf("%s: kubelet %q", node.Name, got.Status.NodeInfo.KubeletVersion)
		}
	}
}

func TestObjectKeepsUserLabels(t *testing.T) {
	t.Parallel()
	got := Node{Name: "n", GPUs: 2, Labels: map[string]string{CountLabel: "16", "a": "b"}}.Object("v1")
	if got.Labels[CountLabel] != "16" || got.Labels["a"] != "b" || got.Labels[corev1.LabelHostname] != "n" {
		t.Errorf("labels %v", got.Labels)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"name=g,gpus=8,product=A100,label.a=b,taint.c=d:NoSchedule", "name=", "=", ",",
		"taint.=:", "name=g,gpus=99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		node, err := Parse(value)
		if err != nil {
			return
		}
		if node.Name == "" || node.GPUs < 0 || node.GPUs > maxGPUs {
			t.Fatalf("Parse(%q) = %+v", value, node)
		}
		object := node.Object("v1")
		if object.Name != node.Name || len(object.Spec.Taints) != len(node.Taints) {
			t.Fatalf("Parse(%q) renders %+v", value, object)
		}
	})
}
