package manifest

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// defaultAccessMode is the default of SkyTorch's Python client.
const defaultAccessMode = corev1.ReadWriteOnce

// RunsTensorServer reports whether an operator runs a tensor server for a runtime.
func RunsTensorServer(runtime string) bool {
	_, runs := kind.OfRuntime(runtime)
	return runs
}

func renderTensorServer(c Compute, k kind.Kind) (map[string]any, error) {
	return generated(map[string]any{
		"apiVersion": k.GroupVersion().String(), "kind": k.Kind, "metadata": workloadMetadata(c, k),
		"spec": tensorServerSpec(c),
	}), nil
}

// tensorServerSpec always sets suspend, so that a suspension by another client is
// drift.
func tensorServerSpec(c Compute) map[string]any {
	env := kind.Each(SortedEnv(c.EnvVars), func(name string) any {
		return map[string]any{"name": name, "value": c.EnvVars[name]}
	})
	spec := map[string]any{
		"labels":      kind.Texts(givenLabels(c), ownPods(c)),
		"annotations": kind.Texts(podAnnotations(c)),
		"suspend":     false,
		"image":       c.Image,
		"command":     listOf(c.Command),
		"args":        listOf(c.Args),
		"env":         env,
		"resources":   toMap(new(requests(c))), // the operator also uses them as limits
	}
	if c.runner() != kind.SkyTorch {
		return spec // implied fields of override, such as tolerations of GPUs, are omitted
	}
	spec["volumeClaimTemplates"] = kind.Each(c.VolumeClaimTemplates, claimTemplate)
	spec["override"] = tensorServerOverride(c)
	return spec
}

func claimTemplate(t VolumeClaimTemplate) any {
	spec := map[string]any{"accessModes": []any{cmp.Or(t.AccessMode, string(defaultAccessMode))}}
	if t.Size != nil {
		spec["resources"] = map[string]any{"requests": map[string]any{string(corev1.ResourceStorage): t.Size.String()}}
	}
	if t.StorageClass != "" {
		spec["storageClassName"] = t.StorageClass
	}
	return map[string]any{"metadata": map[string]any{"name": t.Name}, "spec": spec}
}

// tensorServerOverride returns the fields of a pod spec that the operator merges over
// its pods.
func tensorServerOverride(c Compute) map[string]any {
	volumes, mounts := tensorServerVolumes(c)
	pod := corev1ac.PodSpec().WithServiceAccountName(c.ServiceAccountName)
	if env := secretEnv(c.Secrets); len(env)+len(mounts) > 0 {
		pod.WithContainers(corev1ac.Container().WithName(kind.TensorServerContainer).WithEnv(env...).
			WithVolumeMounts(mounts...))
	}
	return podSpec(c, volumes, pod)
}

// tensorServerVolumes returns volumes for mounted secrets and existing claims, and
// mounts for these and for claim templates. Each mount has a separate volume, because
// override.containers merges mounts by their name.
func tensorServerVolumes(c Compute) ([]corev1.Volume, []*corev1ac.VolumeMountApplyConfiguration) {
	var volumes []corev1.Volume
	var mounts []*corev1ac.VolumeMountApplyConfiguration
	taken := map[string]bool{}
	for _, t := range c.VolumeClaimTemplates {
		taken[t.Name] = true
	}
	add := func(name, object, path string, readOnly bool, source corev1.VolumeSource) {
		if taken[name] {
			name = hashedVolumeName(name, object+"@"+path)
		}
		taken[name] = true
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		mounts = append(mounts, mount(name, path, readOnly))
	}
	for _, s := range c.Secrets {
		if s.MountPath != "" {
			add(keysVolumeName(secretVolumePrefix, s.Name), "secret/"+s.Name, s.MountPath, true, secretSource(s))
		}
	}
	for _, v := range c.Volumes {
		add(v.volumeName(), "claim/"+v.ClaimName, v.MountPath, v.ReadOnly,
			v.source(Compute{Volumes: []VolumeRef{v}}))
	}
	for _, t := range c.VolumeClaimTemplates {
		mounts = append(mounts, mount(t.Name, t.MountPath, false))
	}
	return volumes, mounts
}

// observeTensorServer reads the attributes of the pods from a Compute.
func observeTensorServer(c *Compute, workload map[string]any) {
	spec := SpecOf[kind.ComputeSpec](workload)
	if spec == nil {
		return // it has an invalid field, which the attribute manifests shows
	}
	observePod(c, spec.Override)
	container := corev1.Container{Image: spec.Image, Env: spec.Env,
		Resources: corev1.ResourceRequirements{Requests: spec.Resources}}
	for _, override := range spec.Override.Containers {
		if override.Name == kind.TensorServerContainer {
			container.Env = slices.Concat(container.Env, override.Env)
			container.VolumeMounts = override.VolumeMounts
		}
	}
	observeContainer(c, container)
	observeMounts(c, container, corev1.PodTemplateSpec{Spec: spec.Override})
	for i := range c.Volumes {
		c.Volumes[i].Name = "" // no attribute sets it
	}
	c.Command, c.Args, c.Freeze = spec.Command, spec.Args, false
	for _, variable := range spec.Env {
		if variable.Name == LogLevelVariable { // has no meaning for tensor servers
			c.LogLevel, c.EnvVars[variable.Name] = "", variable.Value
		}
	}
	for _, template := range spec.VolumeClaimTemplates {
		c.VolumeClaimTemplates = append(c.VolumeClaimTemplates, observeClaimTemplate(template, container.VolumeMounts))
	}
}

// tensorServerDemand returns the demand of the operator's pod.
func tensorServerDemand(workload map[string]any) []GroupDemand {
	spec := SpecOf[kind.ComputeSpec](workload)
	if suspended, _ := kind.Find(workload, []string{"spec", "suspend"}); suspended == true || spec == nil {
		return nil
	}
	return []GroupDemand{{
		Pods: 1, MaxPods: 1, Requests: spec.Resources,
		NodeSelector: kind.TextsAt(workload, "spec", "override", "nodeSelector"),
	}}
}

func observeClaimTemplate(
	template corev1.PersistentVolumeClaimTemplate, mounts []corev1.VolumeMount,
) VolumeClaimTemplate {
	seen := VolumeClaimTemplate{Name: template.Name, StorageClass: ptr.Deref(template.Spec.StorageClassName, "")}
	if size, ok := template.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
		seen.Size = &size
	}
	if modes := template.Spec.AccessModes; len(modes) > 0 && modes[0] != defaultAccessMode {
		seen.AccessMode = string(modes[0])
	}
	for _, mount := range mounts {
		if mount.Name == template.Name {
			seen.MountPath = mount.MountPath
		}
	}
	return seen
}

// listOf converts a list to plain JSON.
func listOf(items []string) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}
