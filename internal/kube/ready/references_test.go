package ready

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestReferencesOfAPodAreSortedAndUnique(t *testing.T) {
	t.Parallel()
	const text = `
initContainers:
- env: [{name: A, valueFrom: {secretKeyRef: {name: s9}}}]
containers:
- env:
  - {name: A, valueFrom: {secretKeyRef: {name: s1}}}
  - {name: B, valueFrom: {configMapKeyRef: {name: c1}}}
  - {name: C, valueFrom: {fieldRef: {fieldPath: x}}}
  - {name: D, value: x}
  envFrom: [{secretRef: {name: s2}}, {configMapRef: {name: c9}}]
volumes:
- {name: a, secret: {secretName: s3}}
- {name: b, configMap: {name: c3}}
- {name: c, projected: {sources: [{secret: {name: s1}}, {secret: {name: s4}}, {configMap: {name: c4}}, {}]}}
- {name: d, emptyDir: {}}
- {name: e, configMap: {name: c1}}
`
	var pod corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
		t.Fatal(err)
	}
	secrets, configMaps := References(&pod)
	if want := []string{"s1", "s2", "s3", "s4", "s9"}; !slices.Equal(secrets, want) {
		t.Errorf("Secrets %v, want %v", secrets, want)
	}
	if want := []string{"c1", "c3", "c4", "c9"}; !slices.Equal(configMaps, want) {
		t.Errorf("ConfigMaps %v, want %v", configMaps, want)
	}
}
