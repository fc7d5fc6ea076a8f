package runjob_test

import (
	"bytes"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/runjob"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// template has everything that a Job keeps, and everything that it drops.
const template = `
metadata:
  labels: {app: trainer, kubetorch.com/service: trainer, kueue.x-k8s.io/queue-name: team}
  annotations: {gpu-memory: "1024"}
spec:
  nodeName: gpu-0
  hostname: trainer
  subdomain: trainer-headless
  restartPolicy: Always
  serviceAccountName: trainer
  priorityClassName: high
  priority: 1000
  nodeSelector: {zone: a}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
  initContainers:
  - {name: proxy, image: "proxy:1", restartPolicy: Always}
  - {name: fetch, image: "fetch:1"}
  containers:
  - name: sidecar
    image: sidecar:1
  - name: kubetorch
    image: trainer:1
    command: [/bin/bash, -c]
    args: [start]
    workingDir: /app
    ports: [{containerPort: 8080}]
    env: [{name: MODE, value: serve}, {name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: TOKEN}}}]
    resources: {limits: {nvidia.com/gpu: "1"}}
    livenessProbe: {httpGet: {port: 8080}}
    readinessProbe: {httpGet: {port: 8080}}
    startupProbe: {httpGet: {port: 8080}}
    lifecycle: {preStop: {exec: {command: [stop]}}}
    volumeMounts: [{name: data, mountPath: /data}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

func command(t *testing.T) runjob.Command {
	t.Helper()
	c := runjob.Command{Compute: "trainer", Namespace: "ml", Suffix: "x7k2p",
		Args: []string{"migrate"}, Deadline: 90 * time.Second, Labels: map[string]string{"team": "a"}}
	if err := yaml.UnmarshalStrict([]byte(template), &c.Template); err != nil {
		t.Fatal(err)
	}
	c.Container = c.Template.Spec.Containers[1]
	return c
}

func TestJobIsRenderedFromAPodTemplate(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*runjob.Command){
		"default": func(*runjob.Command) {},
		"changed": func(c *runjob.Command) {
			c.EnvVars = map[string]string{"MODE": "migrate", "LEVEL": "debug"}
			c.WorkingDir, c.Keep = "/data", true
			c.Compute = strings.Repeat("a", 63)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := command(t)
			change(&c)
			before, container := c.Template.DeepCopy(), c.Container.DeepCopy()
			job := runjob.Render(c)
			if before.String() != c.Template.String() || container.String() != c.Container.String() {
				t.Error("the template was modified")
			}
			expectGolden(t, name, job)
		})
	}
}

func expectGolden(t *testing.T, name string, job *unstructured.Unstructured) {
	t.Helper()
	got, err := yaml.Marshal(job.Object)
	if err != nil {
		t.Fatal(err)
	}
	file := "testdata/" + name + ".yaml"
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestJobIsRenderedFromACronJob(t *testing.T) {
	t.Parallel()
	cronJob := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(`
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: ml, uid: u, labels: {team: a}}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    metadata: {labels: {kueue.x-k8s.io/queue-name: team}, annotations: {note: kept}}
    spec:
      parallelism: 2
      template: {spec: {restartPolicy: Never, containers: [{name: evaluate, image: "a:1"}]}}
`), &cronJob.Object); err != nil {
		t.Fatal(err)
	}
	before := cronJob.DeepCopy()
	expectGolden(t, "cronjob", runjob.FromCronJob(cronJob, "x7k2p"))
	if !reflect.DeepEqual(before, cronJob) {
		t.Error("the CronJob was modified")
	}
}
