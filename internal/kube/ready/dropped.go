package ready

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// dropped returns the paths of the fields of override that are missing in the
// template of the StatefulSet of the operator. Operators copy only some fields.
// The operator of SkyTorch copies the mounts, the literal environment
// variables, and volumes that are claims or emptyDirs
// (pkg/controllers/statefulset.go of github.com/astefanutti/skytorch at commit
// 39cbfc9). It omits all others without an error. Of another volume, it keeps
// the name, which the API server defaults to an emptyDir.
//
// A missing toleration or affinity that only follows from the number of GPUs is
// not reported. A pod without such a toleration stays pending with a separate
// cause, and a pod without such an affinity may run on a node with GPUs.
func (c *operated) dropped(set *appsv1.StatefulSet) []string {
	want, have := c.Spec.Override, set.Spec.Template.Spec
	var out []string
	for _, key := range slices.Sorted(maps.Keys(want.NodeSelector)) {
		if value, ok := have.NodeSelector[key]; !ok || value != want.NodeSelector[key] {
			out = append(out, fmt.Sprintf("nodeSelector[%s]", key))
		}
	}
	if want.ServiceAccountName != "" && have.ServiceAccountName != want.ServiceAccountName {
		out = append(out, "serviceAccountName")
	}
	for i, t := range want.Tolerations {
		if !isGPUToleration(t) && !slices.ContainsFunc(have.Tolerations,
			func(other corev1.Toleration) bool { return apiequality.Semantic.DeepEqual(t, other) }) {
			out = append(out, fmt.Sprintf("tolerations[%d]", i))
		}
	}
	if want.Affinity != nil && have.Affinity == nil && !onlyExcludes(want.Affinity) {
		out = append(out, "affinity")
	}
	out = append(out, lost("volumes", want.Volumes, have.Volumes, func(v corev1.Volume) string { return v.Name },
		sameSource)...)
	out = append(out, lost("imagePullSecrets", want.ImagePullSecrets, have.ImagePullSecrets,
		func(s corev1.LocalObjectReference) string { return s.Name }, nil)...)
	out = append(out, lost("schedulingGates", want.SchedulingGates, have.SchedulingGates,
		func(g corev1.PodSchedulingGate) string { return g.Name }, nil)...)
	name := func(c corev1.Container) string { return c.Name }
	out = append(out, lost("initContainers", want.InitContainers, have.InitContainers, name, nil)...)
	out = append(out, lost("containers", want.Containers, have.Containers, name, nil)...)
	for _, container := range want.Containers {
		for _, present := range have.Containers {
			if present.Name == container.Name {
				out = append(out, droppedOfContainer(container, present)...)
			}
		}
	}
	return out
}

func droppedOfContainer(want, have corev1.Container) []string {
	var out []string
	at := fmt.Sprintf("containers[%s].", want.Name)
	out = append(out, lost(at+"env", want.Env, have.Env, func(e corev1.EnvVar) string { return e.Name },
		func(a, b corev1.EnvVar) bool {
			return a.Value == b.Value && (a.ValueFrom == nil) == (b.ValueFrom == nil)
		})...)
	return append(out, lost(at+"volumeMounts", want.VolumeMounts, have.VolumeMounts,
		func(m corev1.VolumeMount) string { return m.MountPath },
		func(a, b corev1.VolumeMount) bool { return a.Name == b.Name })...)
}

// lost returns the items of a list without an equal item of the same name in
// another list.
func lost[T any](list string, want, have []T, name func(T) string, equal func(a, b T) bool) []string {
	var out []string
	for _, item := range want {
		if !slices.ContainsFunc(have, func(other T) bool {
			return name(other) == name(item) &&
				(equal == nil || equal(item, other))
		}) {
			out = append(out, fmt.Sprintf("%s[%s]", list, name(item)))
		}
	}
	return out
}

// sameSource reports whether two volumes have the same type of source,
// regardless of defaulted fields.
func sameSource(a, b corev1.Volume) bool {
	var fields [2]map[string]json.RawMessage
	for i, volume := range []corev1.Volume{a, b} {
		text, _ := json.Marshal(volume) // a volume is always valid JSON
		_ = json.Unmarshal(text, &fields[i])
	}
	return slices.Equal(slices.Sorted(maps.Keys(fields[0])), slices.Sorted(maps.Keys(fields[1])))
}

// isGPUToleration reports whether a toleration is one that every pod with GPUs gets.
func isGPUToleration(t corev1.Toleration) bool {
	return t.Key == kind.GPUResource || t.Key == kind.DedicatedTaint && t.Value == kind.DedicatedGPU
}

// onlyExcludes reports whether an affinity only excludes nodes with certain labels.
func onlyExcludes(a *corev1.Affinity) bool {
	node := ptr.Deref(a.NodeAffinity, corev1.NodeAffinity{})
	return node.RequiredDuringSchedulingIgnoredDuringExecution != nil && a.PodAffinity == nil &&
		a.PodAntiAffinity == nil && len(node.PreferredDuringSchedulingIgnoredDuringExecution) == 0 &&
		!slices.ContainsFunc(kind.RequiredNodeTerms(a), func(term corev1.NodeSelectorTerm) bool {
			return len(term.MatchFields) > 0 || slices.ContainsFunc(term.MatchExpressions,
				func(r corev1.NodeSelectorRequirement) bool { return r.Operator != corev1.NodeSelectorOpDoesNotExist })
		})
}

// droppedCause reports the fields that the operator left out. Its StatefulSet
// may briefly be outdated.
func (s *diagnosis) droppedCause(fields []string) *Cause {
	c := s.cause(ReasonOperatorDrops,
		fmt.Sprintf("The operator omitted fields of spec.override of %s: %s. The pod runs without them.",
			object(s.Workload), strings.Join(fields, ", ")),
		"Remove the fields that the installed operator does not support, or install a version that supports them.")
	c.Fields = fields
	c.Command = Kubectl(s.namespace, "get", "statefulset", s.Workload.GetName(), "-o", "jsonpath={.spec.template.spec}")
	return c.terminal(shortGrace)
}
