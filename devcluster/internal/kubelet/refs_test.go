package kubelet

import (
	"errors"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestMissingForEnv(t *testing.T) {
	t.Parallel()
	there := objects{"token": {"key": nil}, "cm-conf": {"key": nil}}
	optional := true
	local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	configKey := func(name, key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local(name),
			Key: key}}
	}
	env := func(sources ...*corev1.EnvVarSource) corev1.Container {
		var c corev1.Container
		for _, source := range sources {
			c.Env = append(c.Env, corev1.EnvVar{Name: "A", ValueFrom: source})
		}
		return c
	}
	from := func(sources ...corev1.EnvFromSource) corev1.Container { return corev1.Container{EnvFrom: sources} }

	for name, c := range map[string]struct {
		container corev1.Container
		want      string
	}{
		"no references":              {corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}, ""},
		"a field of the pod":         {env(&corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{}}), ""},
		"all objects exist":          {env(secretKey("token", "key", false), configKey("cm-conf", "key")), ""},
		"no such Secret":             {env(secretKey("gone", "key", false)), `secret "gone" not found`},
		"no such ConfigMap":          {env(configKey("cm-gone", "key")), `configmap "cm-gone" not found`},
		"no such key in a Secret":    {env(secretKey("token", "k", false)), "couldn't find key k in Secret ns/token"},
		"no such key in a ConfigMap": {env(configKey("cm-conf", "k")), "couldn't find key k in ConfigMap ns/cm-conf"},
		"an optional Secret":         {env(secretKey("gone", "key", true)), ""},
		"an optional key":            {env(secretKey("token", "k", true)), ""},
		"only the first problem is reported": {env(secretKey("token", "key", false), configKey("cm-gone", "x"),
			secretKey("gone", "x", false)), `configmap "cm-gone" not found`},
		"a whole Secret": {from(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: local("gone")}}), `secret "gone" not found`},
		"a whole ConfigMap": {from(corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: local("cm-gone")}}), `configmap "cm-gone" not found`},
		"an optional whole Secret": {from(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: local("gone"), Optional: &optional}}), ""},
		"a Secret is not taken as a ConfigMap": {env(configKey("token", "key")), `configmap "token" not found`},
		"envFrom is read before env": {
			corev1.Container{
				Env: env(secretKey("gone", "key", false)).Env,
				EnvFrom: []corev1.EnvFromSource{
					{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local("gone-too")}}},
			},
			`secret "gone-too" not found`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := missingForEnv("ns", c.container, there)
			if err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestMissingForVolumes(t *testing.T) {
	t.Parallel()
	there := objects{"token": {"key": nil}, "cm-conf": {"key": nil}}
	optional := true
	items := []corev1.KeyToPath{{Key: "k", Path: "p"}}
	secret := func(source corev1.SecretVolumeSource) corev1.Volume {
		return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &source}}
	}
	configMap := func(source corev1.ConfigMapVolumeSource) corev1.Volume {
		return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &source}}
	}
	projected := func(name string, sources ...corev1.VolumeProjection) corev1.Volume {
		return corev1.Volume{Name: name,
			VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: sources}}}
	}
	local := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	goneConfig := corev1.VolumeProjection{
		ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: local("cm-gone")}}
	const failed = `MountVolume.SetUp failed for volume "v" : `

	for name, c := range map[string]struct {
		volume corev1.Volume
		want   []string
	}{
		"an empty directory": {corev1.Volume{Name: "v",
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, nil},
		"an existing Secret": {secret(corev1.SecretVolumeSource{SecretName: "token"}), nil},
		"no such Secret": {secret(corev1.SecretVolumeSource{SecretName: "gone"}),
			[]string{failed + `secret "gone" not found`}},
		"no such key in a Secret": {secret(corev1.SecretVolumeSource{SecretName: "token", Items: items}),
			[]string{failed + "references non-existent secret key: k"}},
		"an optional Secret": {secret(corev1.SecretVolumeSource{SecretName: "gone", Optional: &optional}), nil},
		"no such ConfigMap": {configMap(corev1.ConfigMapVolumeSource{LocalObjectReference: local("cm-gone")}),
			[]string{failed + `configmap "cm-gone" not found`}},
		"no such key in a ConfigMap": {configMap(corev1.ConfigMapVolumeSource{LocalObjectReference: local("cm-conf"),
			Items: items}), []string{failed + "configmap references non-existent config key: k"}},
		"an optional ConfigMap": {configMap(corev1.ConfigMapVolumeSource{LocalObjectReference: local("cm-gone"),
			Optional: &optional}), nil},
		"a projected ConfigMap": {projected("v", goneConfig), []string{failed + `configmap "cm-gone" not found`}},
		"a projected Secret": {projected("v",
			corev1.VolumeProjection{Secret: &corev1.SecretProjection{LocalObjectReference: local("gone")}}),
			[]string{failed + `secret "gone" not found`}},
		"one message per volume": {projected("v", goneConfig, goneConfig),
			[]string{failed + `configmap "cm-gone" not found`}},
		"the token of the pod": {projected("kube-api-access-x", goneConfig), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := podOf("nginx")
			pod.Spec.Volumes = []corev1.Volume{c.volume}
			got, err := missingForVolumes(pod, there)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestSyncDoesNotGuess checks that Sync returns an error if it cannot read an object.
func TestSyncDoesNotGuess(t *testing.T) {
	t.Parallel()
	for name, pod := range map[string]*corev1.Pod{
		"env": with(podOf("nginx"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{ValueFrom: secretKey("a", "b", false)}}
		}),
		"volume": with(podOf("nginx"),
			func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{secretVolume("v", "a")} }),
		"init": with(podOf("nginx"), initContainers("busybox"), func(p *corev1.Pod) {
			p.Spec.InitContainers[0].Env = []corev1.EnvVar{{ValueFrom: secretKey("a", "b", false)}}
		}),
	} {
		if _, err := Sync(pod, unreachable{}, epoch, "", ""); !errors.Is(err, errUnreachable) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

var errUnreachable = errors.New("unreachable")

type unreachable struct{}

func (unreachable) Secret(string, string) (*corev1.Secret, error)       { return nil, errUnreachable }
func (unreachable) ConfigMap(string, string) (*corev1.ConfigMap, error) { return nil, errUnreachable }
