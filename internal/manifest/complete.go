package manifest

import (
	"maps"
	"slices"
)

// complete is the workload of a compute that brings a manifest: Kubetorch's
// defaults merged beneath it, in every pod template.
//
// Where the main container has a command of the user's, our server does not run
// there: its command, port and probes are left out, and the Service leads to
// the first port of the container.
func complete(c Compute, k kind) (map[string]any, error) {
	workload, _ := copyJSON(c.Manifest).(map[string]any)
	if k.complete != nil {
		k.complete(c, workload)
	}
	if errs := checkGroups(k, workload); len(errs) > 0 {
		return nil, errs
	}
	if errs := scale(c, k, workload); len(errs) > 0 {
		return nil, errs
	}
	for _, g := range k.groups(workload) {
		ours, err := toMap(podTemplate(c, k, g.worker))
		if err != nil {
			return nil, err
		}
		into := mapAt(workload, g.template)
		maps.Copy(into, completeTemplate(k, into, generated(ours)))
	}
	workload["metadata"] = beneath("metadata", mapAt(workload, []string{"metadata"}), workloadMetadata(c, k))
	if k.selects {
		selector := mapAt(workload, []string{"spec", "selector", "matchLabels"})
		maps.Copy(selector, beneath("matchLabels", selector, toAny(ownPods(c))))
	}
	if errs := checkIdentity(c, k, workload); len(errs) > 0 {
		return nil, errs
	}
	return workload, nil
}

func completeTemplate(k kind, user, ours map[string]any) map[string]any {
	for _, container := range listAt(user, "spec", "containers") {
		if container["name"] != k.container || !hasCommand(container) {
			continue
		}
		for _, main := range listAt(ours, "spec", "containers") {
			for _, field := range []string{"command", "args", "ports", "startupProbe", "readinessProbe", "livenessProbe"} {
				delete(main, field)
			}
		}
	}
	if textAt(user, "spec", "serviceAccount") != "" { // the former name of the field
		setAt(ours, []string{"spec", "serviceAccountName"}, nil)
	}
	return beneath("", user, ours)
}

func hasCommand(container map[string]any) bool {
	command, _ := container["command"].([]any)
	args, _ := container["args"].([]any)
	return len(command)+len(args) > 0
}

// validateManifest finds what keeps a manifest from being a workload.
func validateManifest(c Compute, errs *Errors) {
	if c.Manifest == nil {
		return
	}
	workload, k := c.Manifest, kindOf(c)
	if k.gvk.Kind == "" || k.gvk.Version == "" {
		errs.add("manifest", "has no apiVersion and kind that name a kind of workload: give both.")
		return
	}
	switch known, ok := kindOfObject(k.gvk, nil); {
	case !ok && len(c.PodTemplatePath) == 0:
		errs.add("manifest", "is a %s of %s, which the provider does not know: give pod_template_path, where its pod template is.", k.gvk.Kind, k.gvk.GroupVersion())
	case ok && gvkOf(workload) != known.gvk:
		errs.add("manifest", "is a %s of %s: give the one of %s.", k.gvk.Kind, gvkOf(workload).GroupVersion(), known.gvk.GroupVersion())
	case ok && len(c.PodTemplatePath) > 0 && !slices.ContainsFunc(k.groups(workload), func(g group) bool { return slices.Equal(g.template, c.PodTemplatePath) }):
		errs.add("pod_template_path", "is %s, but the provider knows where the pods of a %s are: remove it.", dotted(c.PodTemplatePath), k.gvk.Kind)
	}
	if _, ok := workload["status"]; ok && !isEmpty(normalizeValue(workload["status"], "")) {
		errs.add("manifest", "sets status, which belongs to the cluster: remove it.")
	}
	for _, field := range []string{"creationTimestamp", "deletionTimestamp", "generateName", "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"} {
		if value, _ := find(workload, []string{"metadata", field}); !isEmpty(normalizeValue(value, "")) {
			errs.add("manifest", "sets metadata.%s, which belongs to the cluster: remove it.", field)
		}
	}
}

// checkGroups finds what keeps the pods of a manifest from being found.
func checkGroups(k kind, workload map[string]any) Errors {
	var errs Errors
	paths := [][]string{{"metadata"}, {"metadata", "labels"}, {"metadata", "annotations"}}
	if k.selects {
		paths = append(paths, []string{"spec", "selector", "matchLabels"})
	}
	groups := k.groups(workload)
	if len(groups) == 0 {
		errs.add("manifest", "is a %s without pods: give at least one pod template.", k.gvk.Kind)
	}
	for _, g := range groups {
		for _, below := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec"}} {
			paths = append(paths, under(g.template, below...))
		}
	}
	for _, path := range paths {
		if mapAt(workload, path) == nil {
			errs.add("manifest", "has something else than a map at %s, or on the way there: give a %s as the API has it.", dotted(path), k.gvk.Kind)
		}
	}
	for _, g := range groups {
		containers, ok := find(workload, under(g.template, "spec", "containers"))
		if _, isList := containers.([]any); ok && containers != nil && !isList {
			errs.add("manifest", "has no list at %s.", dotted(under(g.template, "spec", "containers")))
		}
	}
	return errs
}

// checkIdentity refuses a manifest that is another compute's, or whose pods
// would not be found.
func checkIdentity(c Compute, k kind, workload map[string]any) Errors {
	var errs Errors
	refuse := func(path []string, want, reason string) {
		if value, _ := find(workload, path); value != nil && value != want {
			errs.add("manifest", "sets %s to %v, but it must be %s here: %s. Remove it.", dotted(path), value, want, reason)
		}
	}
	refuse([]string{"metadata", "name"}, c.Name, "it is the compute's name")
	refuse([]string{"metadata", "namespace"}, c.Namespace, "it is the compute's namespace")
	object := union(identity(c), queueLabels(c), map[string]string{TemplateLabel: k.template, ManagedByLabel: ManagedByValue})
	refuseAll := func(at []string, labels map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			refuse(under(at, key), labels[key], reasonFor(key))
		}
	}
	refuseAll([]string{"metadata", "labels"}, object)
	for _, g := range k.groups(workload) {
		labels := under(g.template, "metadata", "labels")
		refuseAll(labels, union(identity(c), queueLabels(c)))
		if k.selects {
			refuseAll(labels, textsAt(workload, "spec", "selector", "matchLabels"))
		}
	}
	if k.selects {
		refuseAll([]string{"spec", "selector", "matchLabels"}, ownPods(c))
	}
	return errs
}

// reasonFor says why a label must be what it is.
func reasonFor(label string) string {
	switch label {
	case ServiceLabel:
		return "it names the compute, and its pods are found by it"
	case UsernameLabel:
		return "it follows the provider's username; set that"
	case ManagedByLabel:
		return "the provider finds its objects by it"
	case KueueQueueLabel, KAIQueueLabel:
		return "it follows queue_name; set that"
	case VersionLabel, TemplateLabel:
		return "the provider sets it"
	default:
		return "spec.selector finds the pods by it"
	}
}
