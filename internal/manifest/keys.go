package manifest

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// SecretRef exposes a Secret to the pods: keys as environment variables, all keys
// as files in a read-only directory, or both.
type SecretRef struct {
	Name    string
	EnvVars []string // keys of the Secret, and the names of the variables
	// EnvKeys are the keys of variables with another name, by the name of the variable.
	EnvKeys   map[string]string
	MountPath string // absolute
	// DefaultMode are the permission bits of the mounted files, 0 to 0777; nil: Kubernetes' default, 0644.
	DefaultMode *int32
}

// ConfigMapRef exposes a ConfigMap to the pods in the same ways.
type ConfigMapRef = SecretRef

// EnvFrom sets each key of a Secret or a ConfigMap as an environment variable. Exactly one of the two is set.
type EnvFrom struct {
	Secret, ConfigMap string // names
	Prefix            string // of the names of the variables
}

// keyEnv returns the variables that the keys of Secrets and ConfigMaps set.
func keyEnv(c Compute) []*corev1ac.EnvVarApplyConfiguration {
	return append(secretEnv(c.Secrets), envOfKeys(c.ConfigMaps, func(of, key string) envVarSource {
		return corev1ac.EnvVarSource().WithConfigMapKeyRef(corev1ac.ConfigMapKeySelector().WithName(of).WithKey(key))
	})...)
}

type envVarSource = *corev1ac.EnvVarSourceApplyConfiguration

func secretEnv(secrets []SecretRef) []*corev1ac.EnvVarApplyConfiguration {
	return envOfKeys(secrets, func(of, key string) envVarSource {
		return corev1ac.EnvVarSource().WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(of).WithKey(key))
	})
}

func envOfKeys(
	refs []SecretRef, source func(of, key string) envVarSource,
) []*corev1ac.EnvVarApplyConfiguration {
	var all []*corev1ac.EnvVarApplyConfiguration
	for _, ref := range refs {
		for _, key := range ref.EnvVars {
			all = append(all, corev1ac.EnvVar().WithName(key).WithValueFrom(source(ref.Name, key)))
		}
		for _, name := range slices.Sorted(maps.Keys(ref.EnvKeys)) {
			all = append(all, corev1ac.EnvVar().WithName(name).WithValueFrom(source(ref.Name, ref.EnvKeys[name])))
		}
	}
	return all
}

// variableReference matches what Kubernetes expands in the value of a variable, if the variable that it names is
// defined before.
var variableReference = regexp.MustCompile(`\$\(([^()]+)\)`)

// SortedEnv returns the names of variables in alphabetical order, but each after those that its value refers to.
func SortedEnv(variables map[string]string) []string {
	var sorted []string
	seen := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		value, ok := variables[name]
		if !ok || seen[name] {
			return
		}
		seen[name] = true
		for _, to := range variableReference.FindAllStringSubmatch(value, -1) {
			add(to[1])
		}
		sorted = append(sorted, name)
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		add(name)
	}
	return sorted
}

// refersToKey reports whether the value of a variable refers to one of keys.
func refersToKey(variables map[string]string, keys []*corev1ac.EnvVarApplyConfiguration) bool {
	values := strings.Join(slices.Collect(maps.Values(variables)), "\n")
	return slices.ContainsFunc(keys, func(key *corev1ac.EnvVarApplyConfiguration) bool {
		return strings.Contains(values, "$("+*key.Name+")")
	})
}

func envFrom(sources []EnvFrom) []*corev1ac.EnvFromSourceApplyConfiguration {
	var all []*corev1ac.EnvFromSourceApplyConfiguration
	for _, from := range sources {
		source := corev1ac.EnvFromSource().WithPrefix(from.Prefix)
		if from.Secret != "" {
			source.WithSecretRef(corev1ac.SecretEnvSource().WithName(from.Secret))
		} else {
			source.WithConfigMapRef(corev1ac.ConfigMapEnvSource().WithName(from.ConfigMap))
		}
		all = append(all, source)
	}
	return all
}

// observeEnvFrom is the inverse of envFrom.
func observeEnvFrom(sources []corev1.EnvFromSource) []EnvFrom {
	var seen []EnvFrom
	for _, source := range sources {
		from := EnvFrom{Prefix: source.Prefix}
		if source.SecretRef != nil {
			from.Secret = source.SecretRef.Name
		}
		if source.ConfigMapRef != nil {
			from.ConfigMap = source.ConfigMapRef.Name
		}
		seen = append(seen, from)
	}
	return seen
}

// observeKey is the inverse of keyEnv for a variable, and reports whether a key sets it.
func observeKey(c *Compute, variable corev1.EnvVar) bool {
	from := variable.ValueFrom
	switch {
	case from == nil:
		return false
	case from.SecretKeyRef != nil:
		refNamed(&c.Secrets, from.SecretKeyRef.Name).addVariable(variable.Name, from.SecretKeyRef.Key)
	case from.ConfigMapKeyRef != nil:
		refNamed(&c.ConfigMaps, from.ConfigMapKeyRef.Name).addVariable(variable.Name, from.ConfigMapKeyRef.Key)
	}
	return true
}

func (s *SecretRef) addVariable(name, key string) {
	if key == name {
		s.EnvVars = append(s.EnvVars, name)
	} else {
		s.EnvKeys = withEntry(s.EnvKeys, name, key)
	}
}

// addMount adds the directory where the keys of an object are mounted.
func addMount(refs *[]SecretRef, name, path string, mode *int32) {
	ref := refNamed(refs, name)
	if ref.MountPath != "" { // mounted twice
		*refs = append(*refs, SecretRef{Name: name})
		ref = &(*refs)[len(*refs)-1]
	}
	ref.MountPath, ref.DefaultMode = path, mode
}

// refNamed returns the first item with a name, which it adds if there is none.
func refNamed(refs *[]SecretRef, name string) *SecretRef {
	i := slices.IndexFunc(*refs, func(s SecretRef) bool { return s.Name == name })
	if i < 0 {
		i, *refs = len(*refs), append(*refs, SecretRef{Name: name})
	}
	return &(*refs)[i]
}
