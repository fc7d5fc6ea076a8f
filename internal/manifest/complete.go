package manifest

import (
	"maps"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// complete returns the manifest of a compute, or that of its kind, with the
// provider's fields added, in every pod template.
//
// If the user sets a command for the main container, Kubetorch's server does not
// run there: its command, port and probes are omitted, and the Service uses the
// first port of the container.
func complete(c Compute, k kind.Kind) (map[string]any, error) {
	input := kindInput(c)
	workload, _ := kind.Copy(c.Manifest).(map[string]any)
	if c.Manifest == nil {
		workload = map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.Kind, "spec": k.Spec(input)}
	}
	if k.Complete != nil {
		k.Complete(input, workload)
	}
	if errs := checkGroups(k, workload); len(errs) > 0 {
		return nil, errs
	}
	if errs := scale(c, k, workload); len(errs) > 0 {
		return nil, errs
	}
	for _, g := range k.Groups(workload) {
		into := kind.MapAt(workload, g.Template)
		maps.Copy(into, completeTemplate(k, into, generated(podTemplate(c, k, g.Worker))))
	}
	workload["metadata"] = underlay("metadata", kind.MapAt(workload, []string{"metadata"}), workloadMetadata(c, k))
	if k.Selects {
		selector := kind.MapAt(workload, []string{"spec", "selector", "matchLabels"})
		maps.Copy(selector, underlay("matchLabels", selector, kind.Texts(ownPods(c))))
	}
	if errs := checkIdentity(c, k, workload); len(errs) > 0 {
		return nil, errs
	}
	return workload, nil
}

func completeTemplate(k kind.Kind, user, ours map[string]any) map[string]any {
	if hasCommand(containerIn(user, nil, k.Container)) {
		main := containerIn(ours, nil, k.Container)
		for _, field := range []string{"command", "args", "ports", "startupProbe", "readinessProbe", "livenessProbe"} {
			delete(main, field)
		}
	}
	if kind.TextAt(user, "spec", "serviceAccount") != "" { // the former name of the field
		kind.SetAt(ours, []string{"spec", "serviceAccountName"}, nil)
	}
	return underlay("", user, ours)
}

func hasCommand(container map[string]any) bool {
	command, _ := container["command"].([]any)
	args, _ := container["args"].([]any)
	return len(command)+len(args) > 0
}

// validateManifest rejects a manifest that is not a valid workload.
func validateManifest(c Compute, errs *Errors) {
	if c.Manifest == nil {
		return
	}
	workload, k := c.Manifest, kindOf(c)
	if k.Kind == "" || k.Version == "" {
		errs.add("manifest", "has no apiVersion or no kind of a workload: set both.")
		return
	}
	switch known, ok := kindOfObject(k.GroupVersionKind, nil); {
	case !ok && len(c.PodTemplatePath) == 0:
		errs.add("manifest", "is a %s of %s, which the provider does not support by name: set pod_template_path to "+
			"the path of its pod template.", k.Kind, k.GroupVersion()).
			Concerning(At("pod_template_path"))
	case ok && gvkOf(workload) != known.GroupVersionKind:
		errs.add("manifest", "is a %s of %s: use the one of "+
			"%s.", k.Kind, gvkOf(workload).GroupVersion(), known.GroupVersionKind.GroupVersion())
	case ok && len(c.PodTemplatePath) > 0 && !slices.ContainsFunc(k.Groups(workload),
		func(g kind.Group) bool { return slices.Equal(g.Template, c.PodTemplatePath) }):
		errs.add("pod_template_path", "is %s, but the provider knows the pod template path of a %s: remove "+
			"it.", dotted(c.PodTemplatePath), k.Kind)
	}
	groups := k.Groups(workload)
	for i, g := range groups {
		if at := len(g.Template) - 2; g.Label != "" && slices.IndexFunc(groups, g.Is) < i {
			errs.add("manifest", "has a second group %s at %s[%s].groupName, which would have the same pods as the "+
				"first: use another name.", g.Name, dotted(g.Template[:at]), g.Template[at])
		}
	}
	if _, ok := workload["status"]; ok && !kind.IsEmpty(normalizeValue(workload["status"], "")) {
		errs.add("manifest", "sets status, which only the cluster can set: remove it.")
	}
	for _, field := range []string{"creationTimestamp", "deletionTimestamp", "generateName", "generation",
		"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"} {
		if value, _ := kind.Find(workload, []string{"metadata", field}); !kind.IsEmpty(normalizeValue(value, "")) {
			errs.add("manifest", "sets metadata.%s, which only the cluster can set: remove it.", field)
		}
	}
}

// checkGroups rejects a manifest without pods, or with values of the wrong type.
func checkGroups(k kind.Kind, workload map[string]any) Errors {
	var errs Errors
	paths := [][]string{{"metadata"}, {"metadata", "labels"}, {"metadata", "annotations"}}
	if k.Selects {
		paths = append(paths, []string{"spec", "selector", "matchLabels"})
	}
	groups := k.Groups(workload)
	if len(groups) == 0 {
		errs.add("manifest", "is a %s without pods: add at least one pod template.", k.Kind)
	}
	for _, g := range groups {
		for _, below := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec"}} {
			paths = append(paths, kind.Under(g.Template, below...))
		}
	}
	for _, path := range paths {
		if kind.MapAt(workload, path) == nil {
			errs.add("manifest", "has a value that is not a map at %s or at a parent of it: specify a valid "+
				"%s.", dotted(path), k.Kind)
		}
	}
	for _, g := range groups {
		containers, _ := kind.Find(workload, kind.Under(g.Template, "spec", "containers"))
		if _, isList := containers.([]any); containers != nil && !isList {
			errs.add("manifest", "has no list at %s.", dotted(kind.Under(g.Template, "spec", "containers")))
		}
	}
	return errs
}

// checkIdentity rejects a manifest with the identity of another compute, or whose
// selector would not match its pods.
func checkIdentity(c Compute, k kind.Kind, workload map[string]any) Errors {
	errs := checkName(c, workload)
	object := union(identityLabels(c), queueLabels(c), providerLabels(k))
	refuseAll := func(at []string, labels map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			errs.refuseOther(c, workload, kind.Under(at, key), labels[key], "spec.selector selects the pods with it")
		}
	}
	refuseAll([]string{"metadata", "labels"}, object)
	for _, g := range k.Groups(workload) {
		labels := kind.Under(g.Template, "metadata", "labels")
		refuseAll(labels, union(identityLabels(c), queueLabels(c)))
		if k.Selects {
			refuseAll(labels, kind.TextsAt(workload, "spec", "selector", "matchLabels"))
		}
	}
	if k.Selects {
		refuseAll([]string{"spec", "selector", "matchLabels"}, ownPods(c))
	}
	return errs
}

// checkName rejects the name and the namespace of another compute.
func checkName(c Compute, workload map[string]any) Errors {
	var errs Errors
	errs.refuseOther(c, workload, []string{"metadata", "name"}, c.Name, "it is the name of the compute")
	errs.refuseOther(c, workload, []string{"metadata", "namespace"}, c.Namespace, "it is the namespace of the compute")
	return errs
}

// refuseOther rejects another value in a manifest than the one that the compute needs; see [reasonFor].
func (e *Errors) refuseOther(c Compute, workload map[string]any, path []string, want, otherwise string) {
	if value, _ := kind.Find(workload, path); value != nil && value != want {
		reason, decidedBy := reasonFor(path[len(path)-1], c, otherwise)
		e.add("manifest", "sets %s to %v, but it must be %s here: %s. Remove it.", dotted(path), value, want,
			reason).Concerning(decidedBy...)
	}
}
