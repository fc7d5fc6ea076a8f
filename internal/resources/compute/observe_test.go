package compute

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	corev1 "k8s.io/api/core/v1"
	quantities "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// nullState returns a state in which every attribute is null.
func nullState(t testing.TB) tfsdk.State {
	t.Helper()
	var described resource.SchemaResponse
	New().Schema(t.Context(), resource.SchemaRequest{}, &described)
	object, ok := described.Schema.Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the schema is not an object")
	}
	nulls := map[string]tftypes.Value{}
	for name, attribute := range object.AttributeTypes {
		nulls[name] = tftypes.NewValue(attribute, nil)
	}
	return tfsdk.State{Schema: described.Schema, Raw: tftypes.NewValue(object, nulls)}
}

func modelOf(t testing.TB, state tfsdk.State) *model {
	t.Helper()
	var m model
	if diags := state.Get(t.Context(), &m); diags.HasError() {
		t.Fatal(diags)
	}
	return &m
}

// planned returns a model with only the attributes that every configuration has.
func planned(t testing.TB, set ...func(*model)) *model {
	t.Helper()
	m := modelOf(t, nullState(t))
	m.Name, m.Namespace, m.Replicas = types.StringValue("trainer"), types.StringValue("ml"), types.Int64Value(1)
	for _, f := range set {
		f(m)
	}
	return m
}

var defaults = tf.Defaults{
	Username: "alice", LaunchTimeout: 15 * time.Minute,
	Labels: map[string]string{"org": "x"}, Annotations: map[string]string{"cost": "1"},
}

func rendered(t *testing.T, m *model, with tf.Defaults) owned.Objects {
	t.Helper()
	out, diags := render(t.Context(), m, renderOptions{defaults: with, heldByQueue: true})
	if diags.HasError() {
		t.Fatal(diags)
	}
	return out
}

func observed(t *testing.T, o owned.Objects) manifest.Compute {
	t.Helper()
	return manifest.Observe(workloadOf(t, o))
}

func durationOf(text string) tf.Duration { return tf.Duration{StringValue: types.StringValue(text)} }

func sameQuantities() cmp.Option {
	return cmp.Comparer(func(a, b quantities.Quantity) bool { return a.Cmp(b) == 0 })
}

func workloadOf(t *testing.T, o owned.Objects) *unstructured.Unstructured {
	t.Helper()
	return sorted(o)[0]
}

func texts(t testing.TB, m map[string]string) types.Map {
	t.Helper()
	out, diags := types.MapValueFrom(t.Context(), types.StringType, m)
	if diags.HasError() {
		t.Fatal(diags)
	}
	return out
}

// settings returns functions that set every attribute that a workload contains.
func settings(t *testing.T) map[string]func(*model) {
	t.Helper()
	c := newConverter(t.Context())
	return map[string]func(*model){
		"nothing": func(*model) {},
		"resources": func(m *model) {
			m.CPUs, m.Memory = tf.QuantityOf("500m"), tf.QuantityOf("1Gi")
			m.DiskSize, m.SharedMemoryLimit = tf.QuantityOf("2G"), tf.QuantityOf("64Mi")
		},
		"GPUs": func(m *model) { m.GPUs, m.GPUType = types.Int64Value(2), types.StringValue("NVIDIA-L4") },
		"GPUs by another label": func(m *model) {
			m.GPUs, m.GPUType = types.Int64Value(2), types.StringValue("gpu.vendor/model: x")
		},
		"a share of a GPU": func(m *model) { m.GPUMemory = tf.QuantityOf("5Gi") },
		"replicas":         func(m *model) { m.Replicas = types.Int64Value(3) },
		"metadata": func(m *model) {
			m.Labels, m.Annotations = texts(t, map[string]string{"team": "ml", "empty": ""}),
				texts(t, map[string]string{"owner": "alice"})
		},
		"scheduling": func(m *model) {
			m.NodeSelector = texts(t, map[string]string{"zone": "a"})
			m.Tolerations = tf.Encode(&c.Converter, m.Tolerations,
				[]corev1.Toleration{{Key: "spot", Operator: "Exists"}})
			m.GPUAntiAffinity = types.BoolValue(true)
			m.ServiceAccountName, m.PriorityClassName = types.StringValue("runner"), types.StringValue("high")
			m.RuntimeClassName = types.StringValue("gvisor")
		},
		"other containers": func(m *model) {
			m.InitContainers = tf.Encode(&c.Converter, m.InitContainers, []manifest.Container{{
				Name: "fetch", Image: "a:1", EnvVars: map[string]string{"A": "b", "EMPTY": ""},
				EnvFrom: []manifest.EnvFrom{{ConfigMap: "c"}}}})
			m.Sidecars = tf.Encode(&c.Converter, m.Sidecars, []manifest.Container{{Name: "proxy", Image: "a:1",
				Ports: []corev1.ContainerPort{{ContainerPort: 80}}},
				{Name: "logs", Image: "a:1", Args: []string{"-v"}}})
		},
		"security": func(m *model) {
			m.HostNetwork = types.BoolValue(true)
			m.SecurityContext = tf.Encode(&c.Converter, m.SecurityContext, &manifest.SecurityContext{
				RunAsUser: new(int64(0)), SupplementalGroups: []int64{1}, Privileged: new(false),
				SeccompProfile: &corev1.SeccompProfile{Type: "Localhost", LocalhostProfile: new("a.json")},
				Capabilities:   &corev1.Capabilities{Add: []corev1.Capability{"IPC_LOCK"}}})
		},
		"container": func(m *model) {
			m.Image, m.ImagePullPolicy = types.StringValue("one:1"), types.StringValue("Always")
			m.ImagePullSecrets = tf.Encode(&c.Converter, m.ImagePullSecrets, []string{"registry"})
			m.WorkingDir, m.EnvVars = types.StringValue("/work"),
				texts(t, map[string]string{"MODE": "fast", "EMPTY": ""})
		},
		"log level as a variable": func(m *model) { m.EnvVars = texts(t, map[string]string{"KT_LOG_LEVEL": "TRACE"}) },
		"mounts": func(m *model) {
			m.Secrets = tf.Encode(&c.Converter, m.Secrets,
				[]manifest.SecretRef{{Name: "tokens", EnvVars: []string{"HF_TOKEN"}, MountPath: "/tokens",
					EnvKeys: map[string]string{"TOKEN": "token"}}})
			m.ConfigMaps = tf.Encode(&c.Converter, m.ConfigMaps, []manifest.ConfigMapRef{{Name: "settings",
				EnvVars: []string{"A"}, MountPath: "/settings", DefaultMode: new(int32(0o400))}})
			m.EnvFrom = tf.Encode(&c.Converter, m.EnvFrom, []manifest.EnvFrom{{Secret: "all", Prefix: "P_"}})
			m.Volumes = tf.Encode(&c.Converter, m.Volumes,
				[]manifest.VolumeRef{{ClaimName: "data", MountPath: "/data", ReadOnly: true},
					{Name: "x", EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}, MountPath: "/x",
						SubPath: "a"},
					{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}, MountPath: "/mnt"}})
		},
		"queue of Kueue": func(m *model) {
			m.QueueName, m.QueueScheduler = types.StringValue("a"), types.StringValue("kueue")
		},
		"queue of KAI": func(m *model) {
			m.QueueName, m.QueueScheduler = types.StringValue("a"), types.StringValue(
				"kai")
		},
		"behaviour": func(m *model) {
			m.Freeze, m.InactivityTTL, m.LaunchTimeout = types.BoolValue(true), durationOf("2h"), durationOf("90s")
			m.Logging = tf.With(t.Context(), m.Logging, "level", types.StringValue("debug"))
			m.AllowedSerialization = tf.Encode(&c.Converter, m.AllowedSerialization, []string{"json"})
		},
	}
}

func TestFollowSetsAttributesThatRenderTheLiveObjects(t *testing.T) {
	t.Parallel()
	all := settings(t)
	for fromName, from := range all {
		for toName, to := range all {
			t.Run(fromName+" to "+toName, func(t *testing.T) {
				t.Parallel()
				m := planned(t, from)
				before, after := rendered(t, m, defaults), rendered(t, planned(t, to), defaults)
				if diags := m.follow(t.Context(), observed(t, before), observed(t, after)); diags.HasError() {
					t.Fatal(diags)
				}
				// compared as observed, since the order of variables is not significant
				if diff := cmp.Diff(observed(t, after), observed(t, rendered(t, m, defaults)),
					sameQuantities()); diff != "" {
					t.Errorf("-in the cluster +rendered from the attributes:\n%s", diff)
				}
			})
		}
	}
}

func TestFollowKeepsTheNotationOfUnchangedValues(t *testing.T) {
	t.Parallel()
	m := planned(t, func(m *model) { m.Memory, m.LaunchTimeout = tf.QuantityOf("1024Mi"), durationOf("90") })
	seen := observed(t, rendered(t, m, defaults))
	changed := seen
	changed.Replicas = 5
	if diags := m.follow(t.Context(), seen, changed); diags.HasError() {
		t.Fatal(diags)
	}
	if m.Memory.ValueString() != "1024Mi" || m.LaunchTimeout.ValueString() != "90" || m.Replicas.ValueInt64() != 5 {
		t.Errorf("memory %s, launch_timeout %s, replicas %s", m.Memory, m.LaunchTimeout, m.Replicas)
	}
	if !m.Labels.IsNull() || !m.CPUs.IsNull() || !m.Logging.IsNull() {
		t.Errorf("labels %s, cpus %s, logging %s: want null", m.Labels, m.CPUs, m.Logging)
	}
}

func TestFollowTreatsAScaledWorkloadAsResumed(t *testing.T) {
	t.Parallel()
	m := planned(t, func(m *model) { m.Suspend = types.BoolValue(true) })
	if diags := m.follow(t.Context(), manifest.Compute{}, manifest.Compute{Replicas: 2}); diags.HasError() {
		t.Fatal(diags)
	}
	if m.Suspend.ValueBool() || m.Replicas.ValueInt64() != 2 {
		t.Errorf("suspend %s, replicas %s", m.Suspend, m.Replicas)
	}
}

func TestAdoptSetsAttributesThatRenderTheImportedObjects(t *testing.T) {
	t.Parallel()
	gpus := defaults
	gpus.GPUAntiAffinity = true
	for withName, with := range map[string]tf.Defaults{"": defaults, "with GPU anti-affinity by default": gpus} {
		for name, set := range settings(t) {
			t.Run(name+" "+withName, func(t *testing.T) {
				t.Parallel()
				want := rendered(t, planned(t, set), with)
				m := planned(t)
				m.Mode = types.StringValue("deployment")
				if diags := m.adopt(t.Context(), observed(t, want), with); diags.HasError() {
					t.Fatal(diags)
				}
				if got := rendered(t, m, with); !equalObjects(got, want) {
					t.Errorf("the imported attributes render\n%v\nwant\n%v", got.Value(), want.Value())
				}
			})
		}
	}
}

// The default of a server depends on distribute, which only the registration contains.
func TestImportOfADistributedServerSetsNoDefaultStrategy(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]types.String{
		"default": types.StringNull(), "another": types.StringValue("RollingUpdate"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConverter(t.Context())
			objects, diags := render(t.Context(), planned(t, func(m *model) {
				m.Command, m.Port = tf.Encode(&c.Converter, m.Command, []string{"serve"}), types.Int64Value(8000)
				m.GPUs, m.Replicas, m.Strategy = types.Int64Value(1), types.Int64Value(2), strategy
				m.Distribute = tf.Encode(&c.Converter, m.Distribute, &manifest.Distribute{Type: "pytorch", Workers: 2})
			}), renderOptions{defaults: defaults, registered: true})
			m := planned(t)
			m.Mode = types.StringValue("deployment")
			diags.Append(m.adopt(t.Context(), observed(t, objects), defaults)...)
			diags.Append(m.adoptRegistration(t.Context(), workloadOf(t, objects),
				withRole(objects, manifest.RoleRegistration))...)
			if diags.HasError() || m.Distribute.IsNull() {
				t.Fatalf("distribute %s: %v", m.Distribute, diags)
			}
			if !m.Strategy.Equal(strategy) || !m.MaxSurge.IsNull() || !m.MaxUnavailable.IsNull() {
				t.Errorf("strategy %s, max_surge %s, max_unavailable %s", m.Strategy, m.MaxSurge, m.MaxUnavailable)
			}
		})
	}
}

func TestAdoptReadsZeroReplicasAsSuspended(t *testing.T) {
	t.Parallel()
	m := planned(t)
	m.Mode = types.StringValue("deployment")
	if diags := m.adopt(t.Context(), manifest.Compute{}, defaults); diags.HasError() {
		t.Fatal(diags)
	}
	if !m.Suspend.ValueBool() || m.Replicas.ValueInt64() != 1 {
		t.Errorf("suspend %s, replicas %s", m.Suspend, m.Replicas)
	}
}

// The number of workers is that of replicas. An attribute that the configuration lacks would be a change in every plan
// after the number is the former one again.
func TestFollowDoesNotDistributeARayClusterOfAManifest(t *testing.T) {
	t.Parallel()
	ray := func(workers int64) manifest.Compute {
		return manifest.Compute{Replicas: workers, Distribute: &manifest.Distribute{Type: "ray", Workers: workers}}
	}
	m := planned(t, func(m *model) { m.Manifest = tf.DocumentOf("{kind: RayCluster}") })
	if diags := m.follow(t.Context(), ray(2), ray(3)); diags.HasError() {
		t.Fatal(diags)
	}
	if !m.Distribute.IsNull() || m.Replicas.ValueInt64() != 3 {
		t.Errorf("distribute %s, replicas %s", m.Distribute, m.Replicas)
	}
}
