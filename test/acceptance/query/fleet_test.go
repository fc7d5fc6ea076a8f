package query_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// pythonShapes returns the workloads that Kubetorch's Python creates, from the file with which the renderer is
// compared. Each is an object in JSON with its own name, and with a startup script that is not that of the provider.
func pythonShapes(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(acctest.Root(), "internal", "manifest", "testdata", "parity.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Base  map[string]any `json:"base"`
		Cases []struct {
			Templates []string       `json:"templates"`
			Differs   map[string]any `json:"differs"`
		} `json:"cases"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	var shapes []string
	for i, one := range file.Cases {
		const template = "/spec/template"
		templates := one.Templates
		if templates == nil {
			templates = []string{template}
		}
		leaves := map[string]any{}
		for _, from := range []map[string]any{file.Base, one.Differs} {
			for pointer, value := range from {
				rest, inTemplate := strings.CutPrefix(pointer, template+"/")
				if !inTemplate {
					leaves[pointer] = value
				}
				for _, at := range templates {
					if inTemplate {
						leaves[at+"/"+rest] = value
					}
				}
			}
		}
		for _, at := range templates {
			leaves[at+"/spec/containers/0/args/0"] = "exec kubetorch server start"
		}
		object := fromLeaves(leaves)
		name, _ := object["metadata"].(map[string]any)["name"].(string)
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		shapes = append(shapes, strings.ReplaceAll(string(data), strconv.Quote(name), fmt.Sprintf(`"py-%d"`, i)))
	}
	return shapes
}

// fromLeaves returns the object with values at JSON pointers, of which a value nil is absent.
func fromLeaves(leaves map[string]any) map[string]any {
	var root any
	for _, pointer := range slices.Sorted(maps.Keys(leaves)) {
		if leaves[pointer] != nil {
			root = withLeaf(root, strings.Split(pointer, "/")[1:], leaves[pointer])
		}
	}
	object, _ := root.(map[string]any)
	delete(object["metadata"].(map[string]any), "namespace") //nolint:forcetypeassert // every case has metadata
	return object
}

func withLeaf(into any, steps []string, value any) any {
	if len(steps) == 0 {
		return value
	}
	if index, err := strconv.Atoi(steps[0]); err == nil && !isMap(into) {
		list, _ := into.([]any)
		for len(list) <= index {
			list = append(list, nil)
		}
		list[index] = withLeaf(list[index], steps[1:], value)
		return list
	}
	object, _ := into.(map[string]any)
	if object == nil {
		object = map[string]any{}
	}
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[0])
	object[key] = withLeaf(object[key], steps[1:], value)
	return object
}

func isMap(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// plainWorkloads are workloads with GPUs that do not know Kubetorch. NAME is replaced.
func plainWorkloads() []string {
	const pod = `
      metadata: {labels: {app: NAME}, annotations: {prometheus.io/scrape: "true"}}
      spec:
        initContainers: [{name: fetch, image: "busybox:1.36", command: [sh, -c, "true"]}]
        containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model, NAME]
          env:
          - {name: MODE, value: fast}
          - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
          ports: [{name: http, containerPort: 8000}]
          readinessProbe: {httpGet: {path: /health, port: http}}
          resources: {limits: {nvidia.com/gpu: 1, memory: 16Gi}, requests: {cpu: 500m}}
          volumeMounts: [{name: cache, mountPath: /cache}]
        volumes: [{name: cache, emptyDir: {}}]`
	const head = "apiVersion: %s\nkind: %s\nmetadata: {name: NAME, labels: {app: NAME, team: ml}}\nspec:"
	const selected = "\n  selector: {matchLabels: {app: NAME}}\n  template:" + pod
	return []string{
		fmt.Sprintf(head, "apps/v1", "Deployment") + "\n  replicas: 2" + selected,
		fmt.Sprintf(head, "apps/v1", "Deployment") + "\n  replicas: 0" + selected,
		fmt.Sprintf(head, "apps/v1", "StatefulSet") + "\n  serviceName: NAME" + selected,
		fmt.Sprintf(head, "apps/v1", "DaemonSet") + selected,
		fmt.Sprintf(head, "batch/v1", "CronJob") + "\n  schedule: \"0 3 * * *\"\n  jobTemplate:\n    spec:\n" +
			"      template:\n" + cronPod,
		fmt.Sprintf(head, "batch/v1", "Job") + "\n  suspend: true\n  template:" +
			strings.Replace(pod, "      spec:", "      spec:\n        restartPolicy: Never", 1),
	}
}

const cronPod = `        spec:
          restartPolicy: OnFailure
          containers:
          - {name: train, image: "train:1", resources: {limits: {amd.com/gpu: 1}}}`

// fleet creates fifty objects of several clients in a namespace.
func fleet(t *testing.T, on *acctest.Cluster, ns string) {
	t.Helper()
	for _, shape := range pythonShapes(t) {
		if strings.Contains(shape, `"kind":"RayCluster"`) { // Kubetorch also sends fields that KubeRay does not have
			on.Apply(t, shape, "-n", ns, "--validate=false")
			continue
		}
		on.Apply(t, shape, "-n", ns, "--server-side", "--field-manager=kubetorch")
	}
	for i, workload := range plainWorkloads() {
		named := func(prefix string) string {
			return strings.ReplaceAll(workload, "NAME", fmt.Sprintf("%s-%d", prefix, i))
		}
		on.Apply(t, named("kubectl"), "-n", ns)
		file := filepath.Join(t.TempDir(), "workload.yaml")
		prefix := "hashicorp"
		if i == 0 {
			prefix = "8b.hashicorp" // is no name of a Service
		}
		if err := os.WriteFile(file, []byte(named(prefix)), 0o600); err != nil {
			t.Fatal(err)
		}
		// The Kubernetes provider sends complete objects, with this manager.
		on.Kubectl(t, "create", "-f", file, "-n", ns, "--field-manager=HashiCorp")
	}
	for i := range 6 {
		on.Apply(t, fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data-%d, labels: "+
			"{team: ml}}\nspec: {accessModes: [ReadWriteOnce], storageClassName: standard, resources: {requests: "+
			"{storage: %dGi}}}", i, i+1), "-n", ns)
	}
}

// generations returns the UIDs and generations of all objects of the fleet. An apply that changes the spec of an
// object increases its generation.
func generations(t *testing.T, on *acctest.Cluster, ns string) string {
	t.Helper()
	return on.Kubectl(t, "get", "deployments,statefulsets,daemonsets,jobs,cronjobs,services.serving.knative.dev,"+
		"rayclusters,pvc", "-n", ns, "--sort-by=.metadata.uid", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.generation}{"\n"}{end}`)
}

func TestAccQueryFindsAFleetThatIsAdoptedWithoutAChange(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	q := newQueries(t, withCRDs.Config(ns, ""))
	fleet(t, withCRDs, ns)
	before := generations(t, withCRDs, ns)
	if objects := strings.Count(before, "\n") + 1; objects != 50 {
		t.Fatalf("the fleet has %d objects, want 50:\n%s", objects, before)
	}
	text := ""
	for _, of := range []string{"kt_compute", "kt_volume"} {
		text += fmt.Sprintf("list %q \"found\" {\n  provider         = kt\n  include_resource = true\n}\n", of)
	}
	if err := os.WriteFile(filepath.Join(q.Dir, "fleet.tfquery.hcl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	q.MustRun(t, "query", "-generate-config-out=generated.tf")

	out := q.MustRun(t, "plan", "-out=plan")
	if !strings.Contains(out, "Plan: 50 to import, 0 to add, 0 to change, 0 to destroy.") {
		t.Fatalf("the plan of the generated configuration is:\n%s", out)
	}
	q.MustRun(t, "apply", "plan")
	if after := generations(t, withCRDs, ns); after != before {
		t.Errorf("the import changed objects:\n%s\nwant:\n%s", after, before)
	}
	if out, err := q.Run(t, "plan", "-detailed-exitcode"); err != nil {
		t.Errorf("the plan after the import is not empty: %v\n%s", err, out)
	}
}
