package operator

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Release is a version of an operator with its limitations. Source: pkg/controllers in
// github.com/astefanutti/skytorch.
type Release struct {
	group  string
	server string // label app.kubernetes.io/name of its objects
	// manager is the label app.kubernetes.io/managed-by of its objects.
	manager string
	env     string // prefix of the environment variables that it sets; empty if it sets none
	// override reports whether it supports override and volumeClaimTemplates, with limitations.
	override bool
	// resources reports whether it uses the resources of the Compute. Otherwise, they are constant.
	resources bool
	policy    appsv1.PodManagementPolicyType
}

// SkyTorch is SkyTorch's main branch at commit 39cbfc9.
func SkyTorch() Release {
	return Release{
		group: "compute.skytorch.dev", server: "skytorch-server", manager: "skytorch-operator", override: true,
		resources: true, policy: appsv1.ParallelPodManagement,
	}
}

// SkyTorch010 is SkyTorch 0.1.0, its only release.
func SkyTorch010() Release {
	return Release{
		group: "compute.skytorch.dev", server: "skytorch-server", manager: "skytorch-operator", env: "SKYTORCH_",
		resources: true, policy: appsv1.OrderedReadyPodManagement,
	}
}

// KPU is the operator under its earlier name, at commit 06532c6.
func KPU() Release {
	return Release{group: "compute.kpu.dev", server: "kpu-torch-server", manager: "kpu-operator", env: "KPU_",
		policy: appsv1.OrderedReadyPodManagement}
}

func (r Release) computes() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.group, Version: "v1alpha1", Resource: "computes"}
}

// variables returns the environment variables of the container. Before commit 39cbfc9,
// names may be duplicate, which the API server rejects. Since then, the last value takes
// precedence. Sources of values are lost: for spec.env, the result is an empty
// valueFrom, which the API server also rejects; for override, a variable without a value.
func (r Release) variables(spec computeSpec) []corev1.EnvVar {
	var env []corev1.EnvVar
	add := func(e corev1.EnvVar) {
		i := slices.IndexFunc(env, func(other corev1.EnvVar) bool { return other.Name == e.Name })
		if r.env == "" && i >= 0 {
			env[i] = e
			return
		}
		env = append(env, e)
	}
	if r.env != "" {
		add(corev1.EnvVar{Name: r.env + "PORT", Value: "50051"})
		add(corev1.EnvVar{Name: r.env + "HOST", Value: "[::]"})
		add(corev1.EnvVar{Name: r.env + "LOG_LEVEL", Value: "INFO"})
	}
	for _, e := range spec.Env {
		if e.ValueFrom != nil {
			e.ValueFrom = &corev1.EnvVarSource{}
		}
		add(e)
	}
	if r.override {
		for _, e := range spec.serverOverride().Env {
			add(corev1.EnvVar{Name: e.Name, Value: e.Value})
		}
	}
	return env
}

// mounts returns the volume mounts of override, with the four fields that the operator copies.
func (r Release) mounts(spec computeSpec) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	if !r.override {
		return nil
	}
	for _, m := range spec.serverOverride().VolumeMounts {
		mounts = append(mounts, corev1.VolumeMount{Name: m.Name, MountPath: m.MountPath, SubPath: m.SubPath,
			ReadOnly: m.ReadOnly})
	}
	return mounts
}

// volumes returns the volumes of override and the claims of the templates. Of volumes in override that are neither
// claims nor emptyDirs, only the name is left.
func (r Release) volumes(spec computeSpec) []corev1.Volume {
	var volumes []corev1.Volume
	if !r.override {
		return nil
	}
	for _, v := range spec.Override.Volumes {
		volume := corev1.Volume{Name: v.Name}
		volume.PersistentVolumeClaim = v.PersistentVolumeClaim
		if v.EmptyDir != nil {
			volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
		volumes = append(volumes, volume)
	}
	for _, t := range spec.VolumeClaimTemplates {
		volumes = append(volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: t.Name},
		}})
	}
	return volumes
}

// requirements returns the requests and limits of the container.
func (r Release) requirements(spec computeSpec) corev1.ResourceRequirements {
	if r.resources && len(spec.Resources) > 0 {
		return corev1.ResourceRequirements{Requests: spec.Resources, Limits: spec.Resources}
	}
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"),
			corev1.ResourceMemory: resource.MustParse("256Mi")},
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"),
			corev1.ResourceMemory: resource.MustParse("2Gi")},
	}
}
