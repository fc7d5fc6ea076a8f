package manifest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldens returns computes whose complete objects are in testdata/golden.
func goldens(tb testing.TB) map[string]manifest.Compute {
	tb.Helper()
	return map[string]manifest.Compute{
		"smallest":   {Name: "svc", Namespace: "ml", Replicas: 1},
		"everything": everything(tb),
		"loaded-class": minimal(func(c *manifest.Compute) {
			c.Load = &manifest.Load{ModuleName: "work", ClsOrFnName: "Model", FilePath: "/app", CallableType: "cls",
				InitArgs: map[string]any{"size": int64(7)}}
			c.Distribute = &manifest.Distribute{Workers: 2}
			c.Freeze = true
		}),
		"suspended":               minimal(func(c *manifest.Compute) { c.Replicas = 3; c.Suspend = true }),
		"scaled-to-zero":          minimal(func(c *manifest.Compute) { c.Replicas, c.ReplicasGiven = 0, true }),
		"shared-gpu-in-kai-queue": sharedGPU(tb),
		"kueue-queue":             minimal(func(c *manifest.Compute) { c.QueueName = "gpu-queue" }),
		"defaults-of-provider": minimal(func(c *manifest.Compute) {
			c.DefaultLabels = map[string]string{"team": "platform", "tier": "batch", "app": "fleet", "empty": ""}
			c.DefaultAnnotations = map[string]string{"owner": "platform", "cost": "a"}
			c.Labels = map[string]string{"team": "ml"}
			c.Annotations = map[string]string{"cost": "b"}
		}),
		"log-level-in-env": minimal(func(c *manifest.Compute) {
			c.EnvVars = map[string]string{"KT_LOG_LEVEL": "TRACE", "EMPTY": "", "PATH": "$PATH:/custom/bin"}
			c.LogLevel = "debug"
		}),
		"awkward-volumes":  awkwardVolumes(),
		"service-template": templated(tb),
		"service-template-suspended": minimal(func(c *manifest.Compute) {
			c.Suspend = true
			c.ServiceTemplate = fromJSON(tb, `{"spec": {"replicas": 5, "revisionHistoryLimit": 2.0}}`)
		}),
		"endpoint-url": minimal(func(c *manifest.Compute) {
			c.Endpoint = &manifest.Endpoint{URL: "http://gateway.example"}
		}),
		"endpoint-selector": minimal(func(c *manifest.Compute) {
			c.Endpoint = &manifest.Endpoint{Selector: map[string]string{"app": "ray", "role": "head"}}
		}),
		"own-server": minimal(func(c *manifest.Compute) {
			c.Image, c.Command, c.Args = "vllm/vllm-openai:v0.11.0", []string{"vllm", "serve"}, []string{"org/model"}
			c.Port, c.HealthPath, c.LaunchTimeout = 8000, "/health", 10*time.Minute
			c.EnvVars = map[string]string{"HF_HOME": "$(CACHE)/hf"}
		}),
		"own-command-without-port": minimal(func(c *manifest.Compute) { c.Args = []string{"--batch"} }),
		"devices": minimal(func(c *manifest.Compute) {
			c.CPUs, c.Limits = quantity(tb, "2"), map[string]resource.Quantity{
				"cpu": *quantity(tb, "4"), "hugepages-2Mi": *quantity(tb, "4Mi"),
			}
			c.GPUAntiAffinity = true
			c.ExtendedResources = map[string]resource.Quantity{
				"amd.com/gpu": *quantity(tb, "8"), "nvidia.com/mig-1g.5gb": *quantity(tb, "1"),
			}
		}),
		"placement": minimal(func(c *manifest.Compute) {
			c.Replicas, c.Strategy, c.GPUAntiAffinity = 3, "RollingUpdate", true
			c.Affinity = affinityOf(tb)
			c.TopologySpread = []corev1.TopologySpreadConstraint{
				{TopologyKey: "zone", MaxSkew: 1, WhenUnsatisfiable: "DoNotSchedule"},
			}
			c.TerminationGracePeriod = new(2 * time.Minute)
			c.DisruptionBudget = &manifest.DisruptionBudget{MaxUnavailable: "34%"}
			c.Labels, c.PodLabels = map[string]string{"team": "ml"}, map[string]string{"team": "web", "mesh": "on"}
		}),
		"expose-by-ingress": minimal(func(c *manifest.Compute) {
			c.Expose = &manifest.Expose{Hosts: []string{"a.example.com", "b.example.com"}, IngressClassName: "nginx",
				TLSSecretName: "certificate", Annotations: map[string]string{"cert-manager.io/issuer": "ca"}}
		}),
		"expose-by-gateway": minimal(func(c *manifest.Compute) {
			c.Expose = &manifest.Expose{Hosts: []string{"a.example.com"}, Path: "/v1",
				Gateway: &manifest.GatewayRef{Name: "public", Namespace: "gateways", SectionName: "https"}}
		}),
		"expose-grpc": minimal(func(c *manifest.Compute) {
			c.Command, c.Port = []string{"serve"}, 9000
			c.Expose = &manifest.Expose{Hosts: []string{"*.example.com"}, Protocol: "grpc",
				Gateway: &manifest.GatewayRef{Name: "public"}}
		}),
		"further-ports": minimal(func(c *manifest.Compute) {
			c.Command, c.Port, c.Replicas = []string{"serve"}, 8000, 2
			c.Ports = []manifest.Port{{Name: "metrics", Port: 9090}, {Name: "quic", Port: 8000, Protocol: "UDP"},
				{Name: "grpc", Port: 9000, AppProtocol: "kubernetes.io/h2c"}}
			c.Service = &manifest.ServiceSettings{Type: "LoadBalancer", LoadBalancerClass: "example.com/internal",
				Annotations: map[string]string{"example.com/internal": "true"}, ExternalTrafficPolicy: "Local",
				LoadBalancerSourceRanges: []string{"10.0.0.0/8"}, SessionAffinity: "ClientIP"}
			c.Probes = &manifest.ProbeSettings{
				Startup: &manifest.Probe{GRPC: &manifest.GRPCCheck{Port: 9000, Service: "health"},
					FailureThreshold: 60},
				Readiness: &manifest.Probe{HTTPGet: &manifest.HTTPGet{Path: "/ready"}, Period: 5 * time.Second},
			}
			c.PreStop = &manifest.PreStop{Sleep: new(10 * time.Second)}
			c.MaxSurge, c.MaxUnavailable = "1", "50%"
		}),
		"further-ports-of-kubetorch": minimal(func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Workers: 2}
			c.Ports = []manifest.Port{{Name: "metrics", Port: 9090}}
			c.Probes = &manifest.ProbeSettings{Liveness: &manifest.Probe{TCPSocket: &manifest.TCPSocket{}}}
			c.PreStop = &manifest.PreStop{Exec: &manifest.Exec{Command: []string{"/bin/drain", "-v"}}}
		}),
		"own-server-on-gpus": minimal(func(c *manifest.Compute) {
			c.Command, c.Port, c.Replicas, c.GPUs = []string{"serve"}, 8000, 3, 2
		}),
		"autoscale-by-hpa": minimal(func(c *manifest.Compute) {
			c.Replicas, c.Autoscale = 3, horizontal(tb)
		}),
		"autoscale-groups-by-hpa": minimal(func(c *manifest.Compute) {
			c.Manifest, c.Autoscale = ofGroups(4), horizontal(tb)
		}),
		"autoscale-by-keda": minimal(func(c *manifest.Compute) { c.Autoscale = ofKEDA() }),
		"autoscale-suspended": minimal(func(c *manifest.Compute) {
			c.Suspend, c.Autoscale = true, horizontal(tb)
		}),
		"gpus-despite-anti-affinity": minimal(func(c *manifest.Compute) { c.GPUs = 8; c.GPUAntiAffinity = true }),
	}
}

func everything(tb testing.TB) manifest.Compute {
	tb.Helper()
	return manifest.Compute{
		Name: "trainer", Namespace: "ml", Username: "alice", InstallNamespace: "kt-system",
		DefaultLabels: map[string]string{"org": "research"}, DefaultAnnotations: map[string]string{"org": "research"},
		CPUs: quantity(tb, "1500m"), Memory: quantity(tb, "4096Mi"), DiskSize: quantity(tb, "0.5Ti"),
		SharedMemoryLimit: quantity(tb, "2Gi"),
		GPUs:              2, GPUType: gpuProduct("NVIDIA-H100-80GB-HBM3"), Replicas: 4,
		Labels: map[string]string{"team": "ml"}, Annotations: map[string]string{"note": "keep"},
		NodeSelector: map[string]string{"pool": "spot"},
		Tolerations: []corev1.Toleration{
			{Key: "spot", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(60))},
			{Key: "dedicated", Value: "gpu", Effect: "NoSchedule"},
		},
		InitContainers: []manifest.Container{{Name: "fetch", Image: "fetch:1",
			EnvVars:      map[string]string{"TO": "/data"},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		Sidecars: []manifest.Container{{Name: "metrics", Image: "metrics:1", CPUs: quantity(tb, "100m"),
			Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9000}}}},
		SecurityContext: &manifest.SecurityContext{RunAsUser: new(int64(1000)), FSGroup: new(int64(0)),
			ReadOnlyRootFilesystem: new(false),
			Capabilities:           &corev1.Capabilities{Add: []corev1.Capability{"IPC_LOCK", "SYS_PTRACE"}}},
		HostNetwork: true, RestartTriggers: map[string]string{"settings": "1", "secret": "abc"},
		ServiceAccountName: "builder", PriorityClassName: "critical", RuntimeClassName: new("nvidia"),
		QueueName: "gpus", QueueScheduler: "kueue",
		Image: "registry.example/train:1", ImagePullPolicy: "Always", WorkingDir: "/app",
		ImagePullSecrets: []string{"registry", "mirror"},
		EnvVars:          map[string]string{"B": "2", "A": "1"},
		Secrets: []manifest.SecretRef{
			{Name: "hf", EnvVars: []string{"HF_TOKEN", "HF_HOME"}},
			{Name: "aws", MountPath: "/root/.aws", EnvVars: []string{"AWS_REGION"},
				EnvKeys: map[string]string{"AWS_SESSION_TOKEN": "session", "AWS_SECRET_ACCESS_KEY": "key"}},
		},
		ConfigMaps: []manifest.ConfigMapRef{
			{Name: "settings", EnvVars: []string{"MODE"}, EnvKeys: map[string]string{"LEVEL": "level"}},
			{Name: "prompts", MountPath: "/prompts", DefaultMode: new(int32(0o440))},
		},
		EnvFrom: []manifest.EnvFrom{{Secret: "db", Prefix: "DB_"}, {ConfigMap: "defaults"}},
		Volumes: []manifest.VolumeRef{
			{ClaimName: "data", MountPath: "/data", ReadOnly: true},
			{ClaimName: "scratch", MountPath: "/scratch"},
			{ConfigMap: "settings", MountPath: "/etc/app.json", SubPath: "app.json"},
			{EmptyDir: &corev1.EmptyDirVolumeSource{}, MountPath: "/tmp/cache"},
			{Name: "models", Image: &corev1.ImageVolumeSource{Reference: "models:1"}, MountPath: "/models"},
		},
		LaunchTimeout: 32 * time.Minute, LogLevel: "warning", InactivityTTL: "4h",
		AllowedSerialization: []string{"json", "pickle"},
		ServiceTemplate: map[string]any{
			"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"hostNetwork": true}}}},
	}
}

func sharedGPU(tb testing.TB) manifest.Compute {
	tb.Helper()
	return minimal(func(c *manifest.Compute) {
		c.GPUMemory = quantity(tb, "4G") // 3814.7 MiB
		c.GPUAntiAffinity = true
		c.QueueName, c.QueueScheduler = "research", "kai"
	})
}

func awkwardVolumes() manifest.Compute {
	long := strings.Repeat("long-", 20) + "name"
	return minimal(func(c *manifest.Compute) {
		c.Secrets = []manifest.SecretRef{
			{Name: "aws", MountPath: "/aws"},
			{Name: "aws", MountPath: "/aws-again"},
			{Name: "tls.example.com", MountPath: "/tls"},
			{Name: long, MountPath: "/long-secret"},
		}
		c.Volumes = []manifest.VolumeRef{
			{ClaimName: "dshm", MountPath: "/not-shm"},
			{ClaimName: "secrets-aws", MountPath: "/claim"},
			{ClaimName: "secrets-tls.example.com", MountPath: "/claim-tls"},
			{ClaimName: long, MountPath: "/long-claim"},
			{ClaimName: "data", MountPath: "/data", ReadOnly: true},
			{ClaimName: "data", MountPath: "/data-rw"},
		}
	})
}

func templated(tb testing.TB) manifest.Compute {
	tb.Helper()
	return minimal(func(c *manifest.Compute) {
		c.CPUs = quantity(tb, "1")
		c.Tolerations = []corev1.Toleration{{Key: "spot", Operator: "Exists"}}
		c.ServiceTemplate = fromJSON(tb, `{
			"metadata": {"labels": {"tier": "gold"}},
			"spec": {"template": {"spec": {
				"containers": [
					{"name": "kubetorch", "livenessProbe": null,
					 "resources": {"limits": {"cpu": 1.5, "memory": "1024Mi"}},
					 "env": [{"name": "EXTRA", "value": "1"}],
					 "volumeMounts": [{"name": "cache", "mountPath": "/cache"}, {"name": "cache",
					"mountPath": "/tmp"}]},
					{"name": "sidecar", "image": "busybox", "args": ["--flag", ""]}
				],
				"volumes": [{"name": "cache", "emptyDir": {}}],
				"tolerations": [{"operator": "Exists"}],
				"terminationGracePeriodSeconds": 120
			}}}
		}`)
	})
}

func TestRenderedObjectsMatchTheGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, c := range allGoldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var documents []string
			for _, o := range render(t, c) {
				document, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, string(document))
			}
			got := strings.Join(documents, "---\n")
			file := filepath.Join("testdata", "golden", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", file, diff)
			}
		})
	}
}

func TestRenderedObjectsAreNormalized(t *testing.T) {
	t.Parallel()
	for name, c := range allGoldens(t) {
		for _, o := range render(t, c) {
			if diff := cmp.Diff(o.Object, manifest.Normalize(o)); diff != "" {
				t.Errorf("%s: normalizing changes %s (-rendered +normalized):\n%s", name, manifest.Key(o), diff)
			}
		}
	}
}

func TestRenderDoesNotShareItsInput(t *testing.T) {
	t.Parallel()
	c := templated(t)
	c.DefaultLabels = map[string]string{"a": "b"}
	before := toJSON(t, c)
	want := toJSON(t, render(t, c))
	for _, o := range render(t, c) {
		scribble(o.Object)
	}
	if got := toJSON(t, c); got != before {
		t.Errorf("writing into the objects changed the compute:\n%s\nwas\n%s", got, before)
	}
	if got := toJSON(t, render(t, c)); got != want {
		t.Errorf("writing into the objects changed the next ones:\n%s\nwere\n%s", got, want)
	}
}

// scribble overwrites everything that is reachable from value.
func scribble(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			scribble(v)
			value[key] = "scribbled"
		}
	case []any:
		for i, v := range value {
			scribble(v)
			value[i] = "scribbled"
		}
	}
}

func TestSuspendChangesOnlyTheReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range goldens(t) {
		if c.Suspend || c.Replicas == 0 {
			continue
		}
		want := leaves(render(t, c)[0].Object)
		want["/spec/replicas"] = int64(0)
		c.Suspend = true
		if diff := cmp.Diff(want, leaves(render(t, c)[0].Object)); diff != "" {
			t.Errorf("%s: suspending changes more than the replicas (-want +got):\n%s", name, diff)
		}
	}
}

func TestVolumeNamesAreUniqueAndValid(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for pointer, leaf := range leaves(render(t, awkwardVolumes())[0].Object) {
		if ok, _ := path.Match("/spec/template/spec/volumes/*/name", pointer); !ok {
			continue
		}
		name := fmt.Sprint(leaf)
		if seen[name] {
			t.Errorf("volume %s is there twice", name)
		}
		if len(name) > 63 || strings.Contains(name, ".") {
			t.Errorf("volume %s is not named by a DNS label", name)
		}
		seen[name] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d volumes, want 9: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}

func TestStartupProbeLastsAsLongAsTheLaunchTimeout(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]int64{
		0:                          180, // the default, 15 minutes
		time.Second:                1,
		7 * time.Second:            1,
		10 * time.Minute:           120,
		30 * time.Minute:           360,
		100 * 365 * 24 * time.Hour: 630720000,
	} {
		workload := render(t, minimal(func(c *manifest.Compute) { c.LaunchTimeout = timeout }))[0]
		const threshold = "/spec/template/spec/containers/0/startupProbe/failureThreshold"
		if got := leaves(workload.Object)[threshold]; got != want {
			t.Errorf("launch timeout %s: %v failures allowed, want %d", timeout, got, want)
		}
	}
}
