package ready

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// dropped are the fields of override, by their paths in it, that the operator left out of the template of its
// StatefulSet. Operators copy some of them only: that of SkyTorch the mounts, the plain variables, and volumes that are
// claims or empty (pkg/controllers/statefulset.go of github.com/astefanutti/skytorch at commit 39cbfc9). All others it
// leaves out without a word; of a volume, it keeps the name, and the API server makes that an empty one.
//
// What only follows from a request for GPUs, or for none, is no loss that needs an error: a pod without such a
// toleration stays pending for a reason of its own, and one without such an affinity may run on a node with GPUs.
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
		if !ofGPUNodes(t) && !slices.ContainsFunc(have.Tolerations, func(other corev1.Toleration) bool { return sameJSON(t, other) }) {
			out = append(out, fmt.Sprintf("tolerations[%d]", i))
		}
	}
	if want.Affinity != nil && have.Affinity == nil && !keepsOff(want.Affinity) {
		out = append(out, "affinity")
	}
	out = append(out, lost("volumes", want.Volumes, have.Volumes, func(v corev1.Volume) string { return v.Name }, sameSource)...)
	out = append(out, lost("imagePullSecrets", want.ImagePullSecrets, have.ImagePullSecrets, func(s corev1.LocalObjectReference) string { return s.Name }, nil)...)
	out = append(out, lost("schedulingGates", want.SchedulingGates, have.SchedulingGates, func(g corev1.PodSchedulingGate) string { return g.Name }, nil)...)
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
	out = append(out, lost(at+"env", want.Env, have.Env, func(e corev1.EnvVar) string { return e.Name }, func(a, b corev1.EnvVar) bool {
		return a.Value == b.Value && (a.ValueFrom == nil) == (b.ValueFrom == nil)
	})...)
	return append(out, lost(at+"volumeMounts", want.VolumeMounts, have.VolumeMounts, func(m corev1.VolumeMount) string { return m.MountPath },
		func(a, b corev1.VolumeMount) bool { return a.Name == b.Name })...)
}

// lost are the items of a list that another one has no equal of under the same name.
func lost[T any](list string, want, have []T, name func(T) string, equal func(a, b T) bool) []string {
	var out []string
	for _, item := range want {
		if !slices.ContainsFunc(have, func(other T) bool { return name(other) == name(item) && (equal == nil || equal(item, other)) }) {
			out = append(out, fmt.Sprintf("%s[%s]", list, name(item)))
		}
	}
	return out
}

// sameSource tells whether two volumes are of the same kind, whatever the API server filled in.
func sameSource(a, b corev1.Volume) bool {
	var fields [2]map[string]json.RawMessage
	for i, volume := range []corev1.Volume{a, b} {
		text, err := json.Marshal(volume)
		if err != nil || json.Unmarshal(text, &fields[i]) != nil {
			return false
		}
	}
	return slices.Equal(slices.Sorted(maps.Keys(fields[0])), slices.Sorted(maps.Keys(fields[1])))
}

func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	other, failed := json.Marshal(b)
	return err == nil && failed == nil && bytes.Equal(one, other)
}

// ofGPUNodes tells whether a toleration is one of those that every pod with GPUs gets.
func ofGPUNodes(t corev1.Toleration) bool {
	return t.Key == kind.GPUResource || t.Key == "dedicated" && t.Value == "gpu"
}

// keepsOff tells whether an affinity does no more than to keep a pod off nodes that have certain labels.
func keepsOff(a *corev1.Affinity) bool {
	if a.NodeAffinity == nil || a.PodAffinity != nil || a.PodAntiAffinity != nil ||
		len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchFields) > 0 || slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Operator != corev1.NodeSelectorOpDoesNotExist
		}) {
			return false
		}
	}
	return true
}

// droppedCause says which fields the operator left out. Its StatefulSet may be behind for moments.
func (s *scene) droppedCause(fields []string) *Cause {
	c := s.workloadCause(ReasonOperatorDrops, fmt.Sprintf("The operator left out of the pod of %s what spec.override gives: %s. It runs without.",
		object(s.Workload), strings.Join(fields, ", ")))
	c.Fields = fields
	c.Hint = "Remove what the installed operator does not support, or install a version that does."
	c.Command = kubectl(s.namespace, "get statefulset "+s.Workload.GetName()+" -o jsonpath='{.spec.template.spec}'")
	return c
}
