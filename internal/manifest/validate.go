package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// validate finds what no object can be rendered from, or only one that
// silently leaves out part of what was asked for. Whether single values are
// well formed is the schema's to check, and the API server's.
func validate(c Compute) Errors {
	var errs Errors
	if c.Name == "" {
		errs.add("name", "is empty: give the compute a name.")
	}
	if c.Namespace == "" {
		errs.add("namespace", "is empty: give the compute a namespace.")
	}
	if c.Replicas < 0 || c.Replicas > math.MaxInt32 {
		errs.add("replicas", "is %d: give a number from 0 to %d.", c.Replicas, math.MaxInt32)
	}
	validateGPUs(c, &errs)
	validateLabels(c, &errs)
	validateAnnotations(c, &errs)
	validateEnv(c, &errs)
	validateMounts(c, &errs)
	switch c.QueueScheduler {
	case "", QueueSchedulerKueue, QueueSchedulerKAI:
	default:
		errs.add("queue_scheduler", "is %q: give %q or %q.", c.QueueScheduler, QueueSchedulerKueue, QueueSchedulerKAI)
	}
	validateEndpoint(c, &errs)
	validateAutoscale(c, &errs)
	validateDistribute(c, &errs)
	validateSelector(c, &errs)
	validateManifest(c, &errs)
	validateTensorServer(c, &errs)
	if k := kindOf(c); c.Suspend && len(k.Suspension) == 0 && !k.Empty() {
		errs.add("suspend", "is true, but the provider knows no way to suspend a %s: remove it.", k.Kind)
	}
	if c.ImageSetup != nil && c.ImageSetup.ConfigMap == "" {
		errs.add("image_setup", "names no ConfigMap: give the setup of a kt_image.")
	}
	return errs
}

func validateEndpoint(c Compute, errs *Errors) {
	if c.Endpoint == nil {
		return
	}
	if (c.Endpoint.URL == "") == (len(c.Endpoint.Selector) == 0) {
		errs.add("endpoint", "needs exactly one of url and selector.")
	}
	if kindOf(c).Autoscales && len(c.Endpoint.Selector) > 0 {
		errs.add("endpoint", "selects pods, but Knative makes the Service %s itself: give url, or remove endpoint.", c.Name)
	}
}

func validateDistribute(c Compute, errs *Errors) {
	d := c.Distribute
	if d == nil {
		return
	}
	types := []string{"spmd", "pytorch", "jax", "tensorflow", "monarch", kind.DistributionRay}
	if d.Type != "" && !slices.Contains(types, d.Type) {
		errs.add("distribute", "type is %q: give one of %s.", d.Type, strings.Join(types, ", "))
	}
	workers := designedWorkers(c)
	switch {
	case d.Workers < 0 || d.Workers > math.MaxInt32:
		errs.add("distribute", "workers is %d: give a number from 1 to %d.", d.Workers, math.MaxInt32)
	case d.Workers > 0 && c.ReplicasGiven && !c.ReplicasKept && d.Workers != c.Replicas:
		errs.add("replicas", "is %d, while workers of distribute is %d: make them the same, or remove one of the two.", c.Replicas, d.Workers)
	}
	if d.QuorumWorkers != nil && (*d.QuorumWorkers < 1 || *d.QuorumWorkers > workers) {
		errs.add("distribute", "quorum_workers is %d: give a number from 1 to the number of workers, %d.", *d.QuorumWorkers, workers)
	}
	if d.QuorumTimeout != "" {
		if _, err := ParseDuration(d.QuorumTimeout); err != nil {
			errs.add("distribute", "quorum_timeout %v.", err)
		}
	}
	if version, ok := d.Args[kind.RayVersionArg]; ok && d.Type == kind.DistributionRay && kind.RayVersion(d.Args) == "" {
		errs.add("distribute", "%s of args is %v: give a text such as %q.", kind.RayVersionArg, version, kind.DefaultRayVersion)
	}
	validateDistributed(c, errs)
}

// validateDistributed checks the workload that the workers are pods of.
func validateDistributed(c Compute, errs *Errors) {
	if !isDistributed(c) {
		if c.Manifest != nil && kindOf(c).Distribution != c.Distribute.Type {
			errs.add("distribute", "has type %q, but manifest is a %s: give a RayCluster, or another type.", kind.DistributionRay, kindOf(c).Kind)
		}
		return
	}
	if most := validation.DNS1035LabelMaxLength - len(kind.HeadlessName("")); len(c.Name) > most {
		errs.add("name", "has %d characters, and with distribute no more than %d are possible, since a Service has it with -headless behind.", len(c.Name), most)
	}
	if k := kindOf(c); k.OwnService {
		errs.add("distribute", "needs a fixed number of workers, but the number of pods of a Knative Service changes: remove one of the two.")
	}
}

func validateGPUs(c Compute, errs *Errors) {
	if c.GPUs < 0 {
		errs.add("gpus", "is %d: give a whole number, 0 for none.", c.GPUs)
	}
	if c.GPUMemory != nil {
		if c.GPUs > 0 {
			errs.add("gpu_memory", "asks for a share of one GPU while gpus asks for %d whole ones, which KAI refuses: give one of the two.", c.GPUs)
		}
		if c.GPUMemory.Sign() <= 0 {
			errs.add("gpu_memory", "is %s: give more than nothing, such as \"4Gi\".", c.GPUMemory)
		}
	}
	if c.GPUType == "" {
		return
	}
	key, value, err := ParseGPUType(c.GPUType)
	if err != nil {
		errs.add("gpu_type", "%v", err)
		return
	}
	if selected, ok := c.NodeSelector[key]; ok && selected != value {
		errs.add("gpu_type", "selects nodes with %s=%s while node_selector selects %s=%s: give one of the two.", key, value, key, selected)
	}
}

// validateLabels refuses labels that would take the identity of the workload
// from it. One that says what ours says is no conflict.
func validateLabels(c Compute, errs *Errors) {
	ours := union(identity(c), operatorLabels(c), map[string]string{kind.TemplateLabel: kindOf(c).Template, kind.ManagedByLabel: kind.ManagedByValue})
	instead := map[string]string{
		kind.OperatorNameLabel:     "the operator finds the pods by it",
		kind.OperatorInstanceLabel: "the operator finds the pods by it",

		kind.ServiceLabel:    "it names the compute, and its pods are found by it",
		kind.UsernameLabel:   "it follows the provider's username; set that",
		kind.ManagedByLabel:  "the provider finds its objects by it",
		kind.KueueQueueLabel: "it follows queue_name; set that",
		kind.KAIQueueLabel:   "it follows queue_name; set that",
	}
	for _, given := range givenMaps(c.DefaultLabels, c.Labels, "labels") {
		refuseOthers(given, union(ours, queueLabels(c)), instead, errs)
	}
}

func validateAnnotations(c Compute, errs *Errors) {
	ours := union(autoscaleAnnotations(c), workloadAnnotations(c), gpuMemoryAnnotation(c))
	instead := map[string]string{
		kind.InactivityTTLAnnotation:        "it follows inactivity_ttl",
		kind.AllowedSerializationAnnotation: "it follows allowed_serialization",
		kind.GPUMemoryAnnotation:            "it follows gpu_memory",
	}
	for _, given := range givenMaps(c.DefaultAnnotations, c.Annotations, "annotations") {
		refuseOthers(given, ours, instead, errs)
	}
}

type givenMap struct {
	attribute, where string
	entries          map[string]string
}

func givenMaps(ofProvider, own map[string]string, attribute string) []givenMap {
	return []givenMap{
		{attribute: attribute, where: "the provider's default_" + attribute, entries: ofProvider},
		{attribute: attribute, where: attribute, entries: own},
	}
}

func refuseOthers(given givenMap, ours, instead map[string]string, errs *Errors) {
	for _, key := range slices.Sorted(maps.Keys(given.entries)) {
		if want, ok := ours[key]; ok && given.entries[key] != want {
			reason := cmp.Or(instead[key], "the provider sets it")
			errs.add(given.attribute, "%s sets %s to %q, but it must be %q here: %s. Remove it.",
				given.where, key, given.entries[key], want, reason)
		}
	}
}

func validateEnv(c Compute, errs *Errors) {
	from := map[string]string{}
	for name := range c.EnvVars {
		from[name] = "env_vars"
	}
	for i, secret := range c.Secrets {
		if secret.Name == "" {
			errs.add("secrets", "item %d has no name.", i)
		}
		if len(secret.EnvVars) == 0 && secret.MountPath == "" {
			errs.add("secrets", "secret %q is neither exposed nor mounted: give it env_vars or mount_path.", secret.Name)
		}
		switch mode := secret.DefaultMode; {
		case mode == nil:
		case secret.MountPath == "":
			errs.add("secrets", "secret %q has a default_mode, but no files: give it mount_path, or remove default_mode.", secret.Name)
		case *mode < 0 || *mode > 0o777:
			errs.add("secrets", "secret %q has the default_mode %s: give one from 0000 to 0777.", secret.Name, FileModeText(*mode))
		}
		for _, key := range secret.EnvVars {
			if other, ok := from[key]; ok {
				errs.add("secrets", "secret %q sets the variable %s, which %s sets too: remove one of them.", secret.Name, key, other)
			}
			from[key] = fmt.Sprintf("secret %q", secret.Name)
		}
	}
}

func validateMounts(c Compute, errs *Errors) {
	at := map[string]string{}
	if !RunsTensorServer(c.Runtime) {
		at[sharedMemoryPath] = "shared memory"
	}
	add := func(attribute, what, where string) {
		clean := path.Clean(where)
		if other, ok := at[clean]; ok {
			errs.add(attribute, "%s is mounted at %s, where %s is mounted too: give it another mount_path.", what, where, other)
		}
		at[clean] = what
	}
	if c.ImageSetup != nil {
		add("image_setup", "the set-up of the image", imagePath)
	}
	for _, s := range c.Secrets {
		if s.MountPath != "" {
			add("secrets", fmt.Sprintf("secret %q", s.Name), s.MountPath)
		}
	}
	for i, v := range c.Volumes {
		if v.ClaimName == "" || v.MountPath == "" {
			errs.add("volumes", "item %d needs a claim_name and a mount_path.", i)
			continue
		}
		add("volumes", fmt.Sprintf("claim %q", v.ClaimName), v.MountPath)
	}
	for _, t := range c.VolumeClaimTemplates {
		if t.MountPath != "" {
			add("volume_claim_templates", fmt.Sprintf("claim template %q", t.Name), t.MountPath)
		}
	}
}

// checkTemplate refuses a service_template after which the workload would no
// longer be this compute's, or would not find its pods.
func checkTemplate(k kind.Kind, rendered, merged map[string]any) Errors {
	var errs Errors
	fixed := [][]string{
		{"apiVersion"},
		{"kind"},
		{"metadata", "name"},
		{"metadata", "namespace"},
		{"metadata", "labels", kind.ServiceLabel},
		{"metadata", "labels", kind.TemplateLabel},
		{"metadata", "labels", kind.ManagedByLabel},
	}
	fixed = append(fixed, k.Fixed...)
	groups := k.Groups(rendered)
	for _, g := range groups {
		fixed = append(fixed, kind.Under(g.Template, "metadata", "labels", kind.ServiceLabel))
	}
	if k.Selects {
		fixed = append(fixed, []string{"spec", "selector"})
	}
	for _, path := range fixed {
		before, _ := kind.Find(rendered, path)
		if after, _ := kind.Find(merged, path); !reflect.DeepEqual(before, after) {
			errs.add("service_template", "changes %s, which the provider needs as it is: remove that from the template.", dotted(path))
		}
	}
	if _, ok := merged["status"]; ok {
		errs.add("service_template", "sets status, which belongs to the cluster: remove that from the template.")
	}
	for _, g := range groups {
		containers := kind.Under(g.Template, "spec", "containers")
		if list, _ := kind.Find(merged, containers); !hasNamed(list, k.Container) {
			errs.add("service_template", "replaces %s and so removes the container %s: give each item a name, so that the items are merged.", dotted(containers), k.Container)
		}
	}
	return errs
}

func hasNamed(list any, name string) bool {
	items, _ := list.([]any)
	return slices.ContainsFunc(items, func(item any) bool {
		m, _ := item.(map[string]any)
		return m["name"] == name
	})
}

func dotted(path []string) string { return strings.Join(path, ".") }
