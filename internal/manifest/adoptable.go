package manifest

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Adoption is how an import takes over a workload of another client.
type Adoption int

const (
	// AsAttributes sets all attributes: a client of Kubetorch has created the workload from the same settings.
	AsAttributes Adoption = iota
	// AsManifest keeps the workload as it is, in the attribute manifest, because its selector or its pods are not those
	// of Kubetorch.
	AsManifest
	// AsSettings sets only the attributes that every compute has. Somebody has created a workload that an apply can
	// change to one of Kubetorch.
	AsSettings
)

// AdoptionOf returns how an import takes over a workload.
func AdoptionOf(workload *unstructured.Unstructured) Adoption {
	k, known := kindOfObject(workload.GroupVersionKind(), nil)
	labels := workload.GetLabels()
	switch {
	case !known || k.RunsTensorServer():
		return AsSettings
	case k.Selects && kind.TextAt(workload.Object, "spec", "selector", "matchLabels", kind.ServiceLabel) !=
		workload.GetName():
		return AsManifest
	case k.Picks != nil && !k.ReadAsManifest && labels[kind.TemplateLabel] == k.Template:
		return AsAttributes
	case !k.Selects && !OfKubetorch(workload):
		return AsManifest
	default:
		return AsSettings
	}
}

// Adoptable returns a workload as a manifest of the user: without its identity, and without what the API server or a
// controller has added. given contains the fields that clients have set, which may include defaults of the API server.
func Adoptable(given *unstructured.Unstructured) map[string]any {
	workload := Normalize(given)
	k, _ := kindOfObject(given.GroupVersionKind(), nil)
	delete(workload, "status")
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if entries := withoutGenerated(kind.TextsAt(workload, "metadata", field)); len(entries) > 0 {
			metadata[field] = kind.Texts(entries)
		}
	}
	workload["metadata"] = metadata
	spec := kind.FieldsAt(workload, "spec")
	dropDefaults(spec, k.Defaults)
	if k.Readiness == kind.OfJob {
		delete(spec, "selector")
	}
	for _, g := range k.Groups(workload) {
		dropOfTemplate(kind.FieldsAt(workload, g.Template...))
	}
	return normalize(workload)
}

// ObserveAdoptable returns the attributes for a workload of Kubetorch, without the defaults of the API server. workload
// is what [Adoptable] returns for live.
func ObserveAdoptable(workload, live *unstructured.Unstructured) Compute {
	named := workload.DeepCopy()
	named.SetName(live.GetName())
	named.SetNamespace(live.GetNamespace())
	c := Observe(named)
	if complete := Observe(live); complete.Replicas > 1 {
		c.Strategy = complete.Strategy // the default of the API server is not that of Kubetorch
	}
	return c
}

// KeepsReferences reports whether the main containers of a rendered workload have each environment variable of a live
// one that refers to something, such as a key of a Secret. If not, attributes cannot express them.
func KeepsReferences(rendered, live *unstructured.Unstructured) bool {
	after := references(rendered)
	for name, source := range references(live) {
		if !reflect.DeepEqual(after[name], source) {
			return false
		}
	}
	return true
}

// references returns the sources of the environment variables of the main containers by name, without defaults of the
// API server.
func references(workload *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for _, container := range mainContainers(workload.DeepCopy(), nil) {
		for _, variable := range kind.ListAt(container, "env") {
			if source, refers := variable["valueFrom"].(map[string]any); refers {
				dropDefaults(kind.FieldsAt(source, "fieldRef"), map[string]any{"apiVersion": "v1"})
				out[kind.TextAt(variable, "name")] = source
			}
		}
	}
	return out
}

// withoutGenerated returns labels or annotations without those that clients and controllers write for themselves.
func withoutGenerated(entries map[string]string) map[string]string {
	maps.DeleteFunc(entries, func(key, _ string) bool {
		return key == "kubectl.kubernetes.io/last-applied-configuration" ||
			strings.HasPrefix(key, "deployment.kubernetes.io/") || key == appsv1.DeprecatedTemplateGeneration ||
			slices.Contains(kind.GeneratedLabels(), key)
	})
	return entries
}

func dropOfTemplate(template map[string]any) {
	for _, label := range kind.GeneratedLabels() {
		delete(kind.FieldsAt(template, "metadata", "labels"), label)
	}
	delete(kind.FieldsAt(template, "metadata", "annotations"), kind.RestartedAtAnnotation)
	spec := kind.FieldsAt(template, "spec")
	dropDefaults(spec, map[string]any{"dnsPolicy": "ClusterFirst", "enableServiceLinks": true,
		"restartPolicy": "Always", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": int64(30)})
	delete(spec, "serviceAccount") // the former name of serviceAccountName
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range kind.ListAt(spec, list) {
			dropOfContainer(container)
		}
	}
	for _, volume := range kind.ListAt(spec, "volumes") {
		for source := range volume {
			dropDefaults(kind.FieldsAt(volume, source), map[string]any{"defaultMode": int64(0o644), "type": ""})
		}
	}
}

func dropOfContainer(container map[string]any) {
	dropDefaults(container, map[string]any{"imagePullPolicy": defaultPullPolicy(kind.TextAt(container, "image")),
		"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"})
	for _, port := range kind.ListAt(container, "ports") {
		dropDefaults(port, map[string]any{"protocol": "TCP"})
	}
	for field := range container {
		if !isProbe(field) {
			continue
		}
		dropDefaults(kind.FieldsAt(container, field), map[string]any{"failureThreshold": int64(3),
			"periodSeconds": int64(10), "successThreshold": int64(1), "timeoutSeconds": int64(1)})
		for _, handler := range []string{"httpGet", "grpc"} {
			dropDefaults(kind.FieldsAt(container, field, handler), map[string]any{"scheme": "HTTP", "service": ""})
		}
	}
	for _, variable := range kind.ListAt(container, "env") {
		dropDefaults(kind.FieldsAt(variable, "valueFrom", "fieldRef"), map[string]any{"apiVersion": "v1"})
	}
}

// defaultPullPolicy returns the default of imagePullPolicy
// (https://kubernetes.io/docs/concepts/containers/images/#imagepullpolicy-defaulting).
func defaultPullPolicy(image string) string {
	_, digest, _ := strings.Cut(image, "@")
	tag := image[strings.LastIndex(image, "/")+1:]
	if _, tag, _ = strings.Cut(tag, ":"); digest == "" && (tag == "" || tag == "latest") {
		return "Always"
	}
	return "IfNotPresent"
}

// dropDefaults removes the fields that have the value to which the API server sets them if they are omitted.
func dropDefaults(fields, defaults map[string]any) {
	for field, value := range defaults {
		if reflect.DeepEqual(fields[field], value) {
			delete(fields, field)
		}
	}
}

// asIs returns the manifest of a compute without additions, except its name, its namespace and the number of its pods.
func asIs(c Compute, k kind.Kind) (map[string]any, error) {
	workload, _ := kind.Copy(c.Manifest).(map[string]any)
	metadata := kind.MapAt(workload, []string{"metadata"})
	if metadata == nil {
		return nil, checkGroups(k, workload)
	}
	if errs := scale(c, k, workload); len(errs) > 0 {
		return nil, errs
	}
	if errs := checkName(c, workload); len(errs) > 0 {
		return nil, errs
	}
	metadata["name"], metadata["namespace"] = c.Name, c.Namespace
	return workload, nil
}

// validateManifestOnly rejects attributes that would add something to the manifest.
func validateManifestOnly(c Compute, errs *Errors) {
	switch {
	case !c.ManifestOnly:
	case c.Manifest == nil:
		errs.report(At("manifest_only"), "Missing manifest",
			"manifest_only applies manifest without additions: set manifest too, or remove manifest_only.").
			Concerning(At("manifest"))
	default:
		c.refuseUnsupported(kind.Unchanged, errs, At("manifest_only"))
	}
}
