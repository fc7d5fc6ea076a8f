package functions_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

const job = `apiVersion: kubeflow.org/v1
kind: PyTorchJob
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
    Worker: {replicas: 3, template: {spec: {containers: [{name: pytorch, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
`

const groups = `apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
spec:
  leaderWorkerTemplate:
    size: 3
    leaderTemplate: {spec: {containers: [{name: vllm, resources: {limits: {nvidia.com/gpu: 1}}}]}}
    workerTemplate: {spec: {containers: [{name: vllm, resources: {limits: {nvidia.com/gpu: 8}}}]}}
`

// scaled returns the settings of an autoscaler beside the workload.
func scaled(scaler string, settings map[string]any) map[string]any {
	out := map[string]any{"scaler": scaler,
		"metrics": []any{map[string]any{"resource": map[string]any{"name": "cpu",
			"target": map[string]any{"average_utilization": 60}}}}}
	if scaler == "keda" {
		delete(out, "metrics")
		out["triggers"] = []any{map[string]any{"type": "cron", "metadata": map[string]any{"timezone": "UTC"}}}
	}
	maps.Copy(out, settings)
	return out
}

// distributed returns a compute with four workers.
func distributed(framework string, gpus int) map[string]any {
	return map[string]any{"name": "a", "gpus": gpus, "distribute": map[string]any{"type": framework, "workers": 4}}
}

func TestGPUsTotal(t *testing.T) {
	t.Parallel()
	autoscaled := func(autoscale map[string]any) map[string]any {
		return map[string]any{"name": "a", "gpus": 2, "autoscale": autoscale}
	}
	eight := map[string]any{"min_scale": 1, "max_scale": 8}
	scaledGroups := map[string]any{"name": "a", "manifest": groups, "autoscale": scaled("hpa", eight)}
	suspended := autoscaled(scaled("hpa", eight))
	suspended["suspend"] = true
	for name, c := range map[string]struct {
		compute map[string]any
		want    int64
	}{
		"no GPUs":             {map[string]any{"name": "a"}, 0},
		"replicas":            {map[string]any{"name": "a", "gpus": 2, "replicas": 3}, 6},
		"workers":             {distributed("pytorch", 8), 32},
		"head of Ray too":     {distributed("ray", 1), 4},
		"autoscaled":          {autoscaled(map[string]any{"max_scale": 5}), 10},
		"no limit":            {autoscaled(map[string]any{"min_scale": 3}), 2},
		"hpa":                 {autoscaled(scaled("hpa", eight)), 16},
		"keda":                {autoscaled(scaled("keda", eight)), 16},
		"the default of keda": {autoscaled(scaled("keda", nil)), 200},
		"scaled groups":       {scaledGroups, 8 * 17},
		"suspended hpa":       {suspended, 0},
		"suspended":           {map[string]any{"name": "a", "gpus": 2, "replicas": 3, "suspend": true}, 0},
		"other vendors": {map[string]any{"name": "a", "extended_resources": map[string]any{
			"amd.com/gpu": "4", "nvidia.com/mig-1g.10gb": "2", "rdma/ib": "1"}}, 6},
		"groups of a job": {map[string]any{"name": "a", "manifest": job}, 25},
		"tensor server":   {map[string]any{"name": "a", "gpus": 2, "runtime": "skytorch"}, 2},
		"existing pods":   {map[string]any{"name": "a", "selector": map[string]any{"app": "a"}}, 0},
		"a resource": {map[string]any{"name": "a", "gpus": 7, "uid": "x", "manifests": map[string]any{
			"Deployment/ml/a": `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":2,"template":{"spec":` +
				`{"containers":[{"name":"kubetorch","resources":{"limits":{"nvidia.com/gpu":"4"}}}]}}}}`,
			"Service/ml/a": `{"apiVersion":"v1","kind":"Service"}`, "KubetorchWorkload/ml/a": unknown}}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, failure := call(t, "gpus_total", object(c.compute))
			if failure != nil || !got.Equal(types.Int64Value(c.want)) {
				t.Errorf("got %v (%v), want %d", got, failure, c.want)
			}
		})
	}
	for name, compute := range map[string]map[string]any{
		"config":    {"name": "a", "gpus": 1, "image": unknown},
		"manifests": {"name": "a", "manifests": unknown},
	} {
		if got, failure := call(t, "gpus_total", object(compute)); failure != nil || !got.IsUnknown() {
			t.Errorf("unknown %s: got %v (%v)", name, got, failure)
		}
	}
}

// A hidden number is a placeholder in manifests. The values are those of sensitive_values.
func TestHiddenValuesCount(t *testing.T) {
	t.Parallel()
	const hidden = `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"replicas":"(sensitive 1)","template":` +
		`{"spec":` +
		`{"containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"(sensitive 2)"},` +
		`"requests":{"cpu":"(sensitive 1)"}},"ports":[{"containerPort":"(sensitive 1)"}]}]}}}}`
	const container = "/spec/template/spec/containers/0/"
	values := func(pairs ...string) map[string]any {
		var fields []string
		for i := 0; i < len(pairs); i += 2 {
			fields = append(fields, `"`+pairs[i]+`":{"value":`+pairs[i+1]+`,"revision":1}`)
		}
		return map[string]any{"Deployment/ml/a": "{" + strings.Join(fields, ",") + "}", "Service/ml/a": "{}"}
	}
	all := values("/spec/replicas", "3", container+"resources/limits/nvidia.com~1gpu", `"4"`,
		container+"resources/requests/cpu", "2", container+"ports/0/containerPort", "80")
	for name, c := range map[string]struct {
		sensitive any // nil: not set
		want      int64
		failure   string
	}{
		"all values":        {all, 12, ""},
		"some are missing":  {values("/spec/replicas", "3"), 0, "pass the complete compute"},
		"no values":         {nil, 0, `manifests["Deployment/ml/a"] contains placeholders`},
		"unreadable":        {map[string]any{"Deployment/ml/a": "x"}, 0, "does not match sensitive_values"},
		"of another object": {values("/spec/none/0", "3"), 0, "does not match sensitive_values"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compute := map[string]any{"name": "a", "manifests": map[string]any{"Deployment/ml/a": hidden,
				"Service/ml/a": `{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"(sensitive 1)"}}`}}
			if c.sensitive != nil {
				compute["sensitive_values"] = c.sensitive
			}
			got, failure := call(t, "gpus_total", object(compute))
			if c.failure != "" {
				if failure == nil || !strings.Contains(failure.Text, c.failure) {
					t.Errorf("got %v (%v), want an error with %q", got, failure, c.failure)
				}
			} else if failure != nil || !got.Equal(types.Int64Value(c.want)) {
				t.Errorf("got %v (%v), want %d", got, failure, c.want)
			}
		})
	}
}

func node(free int, schedulable bool) any {
	return map[string]any{"name": "n", "free": free, "schedulable": schedulable, "capacity": 8, "allocatable": 8}
}

func gpus(products ...any) map[string]any { return map[string]any{"products": products} }

func product(name string, nodes ...any) any { return map[string]any{"product": name, "nodes": nodes} }

func TestFits(t *testing.T) {
	t.Parallel()
	pods := func(gpus, replicas int) map[string]any {
		return map[string]any{"name": "a", "gpus": gpus, "replicas": replicas}
	}
	whole, groups := node(8, true), map[string]any{"name": "a", "manifest": job}
	h100 := pods(4, 1)
	h100["gpu_type"] = "NVIDIA-H100-80GB-HBM3"
	amd := map[string]any{"name": "a", "extended_resources": map[string]any{"amd.com/gpu": "2"}}
	amdGPUs := gpus(product("MI300X", node(2, true)))
	amdGPUs["resource_name"] = "amd.com/gpu"
	for name, c := range map[string]struct {
		compute, gpus map[string]any
		want          bool
	}{
		"no GPUs requested":                {map[string]any{"name": "a"}, gpus(), true},
		"none free":                        {pods(1, 1), gpus(), false},
		"on one node":                      {pods(4, 2), gpus(product("A", node(8, true))), true},
		"enough in total, not on a node":   {pods(8, 1), gpus(product("A", node(4, true), node(4, true))), false},
		"one pod too many":                 {pods(4, 3), gpus(product("A", node(7, true), node(4, true))), false},
		"a cordoned node":                  {pods(4, 1), gpus(product("A", node(8, false))), false},
		"another product":                  {h100, gpus(product("NVIDIA-A100", node(8, true))), false},
		"the product":                      {h100, gpus(product("NVIDIA-H100-80GB-HBM3", node(8, true))), true},
		"any product":                      {pods(8, 2), gpus(product("A", whole), product("B", whole)), true},
		"groups of different sizes":        {groups, gpus(product("A", whole, whole, node(1, true), whole)), true},
		"groups without room for the head": {groups, gpus(product("A", whole, whole, whole)), false},
		"another vendor":                   {amd, amdGPUs, true},
		"suspended":                        {map[string]any{"name": "a", "gpus": 8, "suspend": true}, gpus(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, failure := call(t, "fits", object(c.compute), object(c.gpus))
			if failure != nil || !got.Equal(types.BoolValue(c.want)) {
				t.Errorf("got %v (%v), want %v", got, failure, c.want)
			}
		})
	}
}

func TestFitsRejectsWrongArguments(t *testing.T) {
	t.Parallel()
	one := map[string]any{"name": "a", "gpus": 1}
	for name, c := range map[string]struct {
		compute, gpus map[string]any
		argument      int64
		want          string
	}{
		"another resource": {map[string]any{"name": "a", "extended_resources": map[string]any{"amd.com/gpu": "2"}},
			gpus(), 1, "The compute requests amd.com/gpu, but the argument counts nvidia.com/gpu"},
		"no products": {one, map[string]any{}, 1, "with the attribute products"},
		"no nodes":    {one, gpus(map[string]any{}), 1, "products[0] must be an object with the attribute nodes"},
		"no free":     {one, gpus(product("A", map[string]any{})), 1, "products[0].nodes[0] must be"},
		"compute":     {map[string]any{"gpus": 1}, gpus(), 0, "name"},
	} {
		_, failure := call(t, "fits", object(c.compute), object(c.gpus))
		if failure == nil || failure.FunctionArgument == nil || *failure.FunctionArgument != c.argument ||
			!strings.Contains(failure.Text, c.want) {
			t.Errorf("%s: got %v, want an error of argument %d with %q", name, failure, c.argument, c.want)
		}
	}
	unknowns := gpus(product("A", map[string]any{"free": unknown, "schedulable": true}))
	if got, failure := call(t, "fits", object(one), object(unknowns)); failure != nil || !got.IsUnknown() {
		t.Errorf("unknown GPUs: got %v (%v)", got, failure)
	}
}
