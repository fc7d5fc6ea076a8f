package manifest_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

type parityFile struct {
	Base  map[string]any `json:"base"`
	Cases []struct {
		Name      string         `json:"name"`
		Input     parityInput    `json:"input"`
		Templates []string       `json:"templates"`
		Differs   map[string]any `json:"differs"`
		Ours      []string       `json:"ours"`
	} `json:"cases"`
}

// parityInput contains the attributes of a kt_compute.
type parityInput struct {
	Name                 string              `json:"name"`
	CPUs                 string              `json:"cpus"`
	Memory               string              `json:"memory"`
	DiskSize             string              `json:"disk_size"`
	GPUs                 int64               `json:"gpus"`
	GPUType              string              `json:"gpu_type"`
	SharedMemoryLimit    string              `json:"shared_memory_limit"`
	Replicas             *int64              `json:"replicas"`
	Labels               map[string]string   `json:"labels"`
	Annotations          map[string]string   `json:"annotations"`
	NodeSelector         map[string]string   `json:"node_selector"`
	Tolerations          []corev1.Toleration `json:"tolerations"`
	ServiceAccountName   string              `json:"service_account_name"`
	PriorityClassName    string              `json:"priority_class_name"`
	ImagePullPolicy      string              `json:"image_pull_policy"`
	WorkingDir           string              `json:"working_dir"`
	Image                string              `json:"image"`
	EnvVars              map[string]string   `json:"env_vars"`
	QueueName            string              `json:"queue_name"`
	Freeze               bool                `json:"freeze"`
	InactivityTTL        string              `json:"inactivity_ttl"`
	LaunchTimeout        int64               `json:"launch_timeout"`
	GPUAntiAffinity      bool                `json:"gpu_anti_affinity"`
	LoggingLevel         string              `json:"logging_level"`
	AllowedSerialization []string            `json:"allowed_serialization"`
	ServiceTemplate      string              `json:"service_template"`
	Secrets              []struct {
		Name      string   `json:"name"`
		EnvVars   []string `json:"env_vars"`
		MountPath string   `json:"mount_path"`
	} `json:"secrets"`
	Volumes []struct {
		ClaimName string `json:"claim_name"`
		MountPath string `json:"mount_path"`
	} `json:"volumes"`
	Autoscale *struct {
		MinScale *int64 `json:"min_scale"`
		MaxScale *int64 `json:"max_scale"`
		Target   *int64 `json:"target"`
	} `json:"autoscale"`
	Distribute *struct {
		Type    string `json:"type"`
		Workers int64  `json:"workers"`
	} `json:"distribute"`
}

func (in parityInput) compute(t *testing.T) manifest.Compute {
	t.Helper()
	c := manifest.Compute{
		Name: "svc", Namespace: "ml", Username: "alice", Replicas: 1,
		CPUs: optional(t, in.CPUs), Memory: optional(t, in.Memory), DiskSize: optional(t, in.DiskSize),
		GPUs: in.GPUs, SharedMemoryLimit: optional(t, in.SharedMemoryLimit),
		Labels: in.Labels, Annotations: in.Annotations,
		NodeSelector: in.NodeSelector, Tolerations: in.Tolerations, GPUAntiAffinity: in.GPUAntiAffinity,
		ServiceAccountName: in.ServiceAccountName, PriorityClassName: in.PriorityClassName, QueueName: in.QueueName,
		Image: in.Image, ImagePullPolicy: in.ImagePullPolicy, WorkingDir: in.WorkingDir, EnvVars: in.EnvVars,
		Freeze: in.Freeze, LogLevel: in.LoggingLevel, InactivityTTL: in.InactivityTTL,
		LaunchTimeout:        time.Duration(in.LaunchTimeout) * time.Second,
		AllowedSerialization: in.AllowedSerialization,
	}
	if in.GPUType != "" {
		var err error
		if c.GPUType, err = manifest.ParseGPUType(in.GPUType, ""); err != nil {
			t.Fatal(err)
		}
	}
	if in.Name != "" {
		c.Name = in.Name
	}
	if in.Replicas != nil {
		c.Replicas = *in.Replicas
	}
	if in.ServiceTemplate != "" {
		c.ServiceTemplate = fromJSON(t, in.ServiceTemplate)
	}
	for _, s := range in.Secrets {
		c.Secrets = append(c.Secrets, manifest.SecretRef{Name: s.Name, EnvVars: s.EnvVars, MountPath: s.MountPath})
	}
	for _, v := range in.Volumes {
		c.Volumes = append(c.Volumes, manifest.VolumeRef{ClaimName: v.ClaimName, MountPath: v.MountPath})
	}
	if a := in.Autoscale; a != nil {
		c.Autoscale = &manifest.Autoscale{MinScale: a.MinScale, MaxScale: a.MaxScale, Target: a.Target}
	}
	if d := in.Distribute; d != nil {
		c.Distribute = &manifest.Distribute{Type: d.Type, Workers: d.Workers}
	}
	return c
}

func optional(t *testing.T, s string) *resource.Quantity {
	t.Helper()
	if s == "" {
		return nil
	}
	return quantity(t, s)
}

func TestWorkloadHasExactlyTheFieldsOfKubetorch(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/parity.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file parityFile
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		t.Fatal(err)
	}
	const cases = 32
	if len(file.Cases) != cases {
		t.Errorf("%d cases, want all %d", len(file.Cases), cases)
	}
	for _, tc := range file.Cases {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			templates := tc.Templates
			if templates == nil {
				templates = []string{baseTemplate}
			}
			want := moved(file.Base, templates)
			differs := moved(tc.Differs, templates)
			maps.Copy(want, differs)
			maps.DeleteFunc(want, func(_ string, value any) bool { return value == nil })
			ours := append([]string{"/metadata/labels/app.kubernetes.io~1managed-by"}, tc.Ours...)
			for _, template := range templates {
				ours = append(ours, template+"/spec/containers/0/args/0")
			}
			got := leaves(render(t, tc.Input.compute(t))[0].Object)
			for _, pointer := range slices.Sorted(maps.Keys(want)) {
				if !sameLeaf(pointer, got[pointer], want[pointer]) {
					t.Errorf("%s is %v, want %v", pointer, got[pointer], want[pointer])
				}
			}
			for _, pointer := range slices.Sorted(maps.Keys(got)) {
				if _, ok := want[pointer]; !ok && !slices.Contains(ours, pointer) {
					t.Errorf("%s is %v, but Kubetorch renders no such field", pointer, got[pointer])
				}
			}
		})
	}
}

const baseTemplate = "/spec/template"

// moved returns leaves with those of the base's pod template moved to other templates.
func moved(leaves map[string]any, templates []string) map[string]any {
	result := map[string]any{}
	for pointer, value := range leaves {
		rest, ok := strings.CutPrefix(pointer, baseTemplate+"/")
		if !ok {
			result[pointer] = value
			continue
		}
		for _, template := range templates {
			result[template+"/"+rest] = value
		}
	}
	return result
}

// sameLeaf compares quantities by value, and numbers regardless of their Go type.
func sameLeaf(pointer string, got, want any) bool {
	gotText, ok1 := got.(string)
	wantText, ok2 := want.(string)
	if ok1 && ok2 && (strings.Contains(pointer, "/resources/") || strings.HasSuffix(pointer, "/sizeLimit")) {
		a, b := resource.MustParse(gotText), resource.MustParse(wantText)
		return a.Cmp(b) == 0
	}
	gotJSON, err1 := json.Marshal(got)
	wantJSON, err2 := json.Marshal(want)
	return err1 == nil && err2 == nil && bytes.Equal(gotJSON, wantJSON)
}
