package manifest

import (
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// validateKeys rejects Secrets and ConfigMaps that are not used, and environment variables that are set twice.
func validateKeys(c Compute, errs *Errors) {
	setBy := map[string]Path{}
	for name := range c.EnvVars {
		setBy[name] = At("env_vars")
	}
	for i, secret := range c.Secrets {
		validateKeysOf(At("secrets", Index(i)), "secret", secret, setBy, errs)
	}
	for i, configMap := range c.ConfigMaps {
		validateKeysOf(At("config_maps", Index(i)), "ConfigMap", configMap, setBy, errs)
	}
	validateEnvFrom(At("env_from"), c.EnvFrom, errs)
}

func validateKeysOf(at Path, noun string, ref SecretRef, setBy map[string]Path, errs *Errors) {
	envVars, envKeys, mountPath := at.At(Name("env_vars")), at.At(Name("env_keys")), at.At(Name("mount_path"))
	if ref.EnvVars == nil && ref.EnvKeys == nil && ref.MountPath == "" {
		also := map[string]string{"secret": " The attribute ref of a kt_secret contains them."}[noun]
		errs.report(at, "Unused "+noun, "%s is neither exposed nor mounted: set env_vars, env_keys or mount_path.%s",
			at, also).Concerning(envVars, envKeys, mountPath)
	}
	if ref.DefaultMode != nil && ref.MountPath == "" {
		mode := at.At(Name("default_mode"))
		errs.report(mode, "default_mode without mounted files",
			"%s applies to files, but no keys are mounted as files: set mount_path, or remove default_mode.", mode).
			Concerning(mountPath)
	}
	set := func(item Path, name string) {
		if other, taken := setBy[name]; taken {
			errs.report(item, "Variable set twice", "%s sets %s, a variable that %s also sets: remove one of them.",
				item, name, other)
		}
		setBy[name] = at
	}
	for j, name := range ref.EnvVars {
		set(envVars.At(Index(j)), name)
	}
	for _, name := range slices.Sorted(maps.Keys(ref.EnvKeys)) {
		set(envKeys.At(Entry(name)), name)
	}
}

// validateEnvFrom rejects items that are not exactly one Secret or ConfigMap.
func validateEnvFrom(at Path, sources []EnvFrom, errs *Errors) {
	for i, from := range sources {
		errs.exactlyOne(at.At(Index(i)), choice{"secret", from.Secret != ""},
			choice{"config_map", from.ConfigMap != ""})
	}
}

// validateMounts rejects mount paths and names of claim templates that are used twice.
func validateMounts(c Compute, errs *Errors) {
	type mount struct {
		what     string
		concerns Path
	}
	mounted := map[string]mount{}
	if !RunsTensorServer(c.Runtime) {
		mounted[sharedMemoryPath] = mount{"the shared memory", At("runtime")}
	}
	if c.ImageSetup != nil {
		mounted[imagePath] = mount{"the setup of the image", At("image_ref")}
	}
	add := func(item Path, where string) {
		at, clean := item.At(Name("mount_path")), path.Clean(where)
		if other, taken := mounted[clean]; taken && where != "" {
			errs.report(at, "Path mounted twice", "%s is %s, where %s is already mounted: use another "+
				"path.", at, clean, other.what).
				Concerning(other.concerns)
			return
		}
		mounted[clean] = mount{item.String(), at}
	}
	for i, secret := range c.Secrets {
		add(At("secrets", Index(i)), secret.MountPath)
	}
	for i, configMap := range c.ConfigMaps {
		add(At("config_maps", Index(i)), configMap.MountPath)
	}
	for i, volume := range c.Volumes {
		add(At("volumes", Index(i)), volume.MountPath)
	}
	named := map[string]Path{}
	for i, t := range c.VolumeClaimTemplates {
		at := At("volume_claim_templates", Index(i))
		name := at.At(Name("name"))
		if other, taken := named[t.Name]; taken && t.Name != "" {
			errs.report(name, "Duplicate name", "%s is %s, which is already the name of %s: use another "+
				"name.", name, t.Name, other)
		}
		named[t.Name] = at
		add(at, t.MountPath)
	}
}

func validateEndpoint(c Compute, errs *Errors) {
	e := c.Endpoint
	if e == nil {
		return
	}
	at := At("endpoint")
	url, selector := at.At(Name("url")), at.At(Name("selector"))
	switch {
	case e.URL == "" && e.Selector == nil:
		errs.report(at, "Empty endpoint", "endpoint is empty: set url to an existing Service or Ingress, or "+
			"selector to the labels of the pods that the Service of the compute selects, or remove "+
			"endpoint.").Concerning(url, selector)
	case e.URL != "" && e.Selector != nil:
		errs.report(url, conflict, "endpoint has both url, with which no Service is created, and selector, for the "+
			"created Service: set only one of the two.")
	case kindOf(c).Autoscales && len(e.Selector) > 0:
		errs.report(selector, conflict, "endpoint.selector requires a Service that selects pods, but Knative "+
			"creates the Service of this compute: set endpoint.url, or remove "+
			"endpoint.").Concerning(modeAttributes()...)
	}
}

// longestName is the maximum length of the name of a Service, and of the value of a label.
const longestName = validation.DNS1035LabelMaxLength

// validateName rejects a name that is too long for the controller, or for the headless Service.
func validateName(c Compute, errs *Errors) {
	k, longest := kindOf(c), longestName-len(kind.HeadlessName(""))
	switch {
	case k.LongestName > 0 && len(c.Name) > k.LongestName:
		errs.add("name", "has %d characters, but the controller of a %s accepts at most %d: use a shorter name.",
			len(c.Name), k.Kind, k.LongestName).Concerning(modeAttributes()...)
	case needsHeadless(c, k) && len(c.Name) > longest:
		errs.add("name", "has %d characters, but a distributed compute also has a Service %s, and the name of a "+
			"Service can have at most %d: use a name of at most %d.",
			len(c.Name), kind.HeadlessName("<name>"), longestName, longest).Concerning(At("distribute", Name("type")))
	}
}
