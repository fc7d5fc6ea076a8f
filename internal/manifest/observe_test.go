package manifest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// asSeen returns the minimal compute as Observe reads it from its workload.
func asSeen(change ...func(*manifest.Compute)) manifest.Compute {
	return minimal(append([]func(*manifest.Compute){func(c *manifest.Compute) {
		c.Image = manifest.DefaultImage
		c.ServiceAccountName = manifest.DefaultServiceAccount
		c.LaunchTimeout = manifest.DefaultLaunchTimeout
		c.LogLevel = manifest.DefaultLogLevel
	}}, change...)...)
}

func affinityOf(tb testing.TB) *corev1.Affinity {
	tb.Helper()
	affinity, err := manifest.ParseAffinity(`{
		"nodeAffinity": {
			"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
				{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
				{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
			]},
			"preferredDuringSchedulingIgnoredDuringExecution": [
				{"weight": 1, "preference": {"matchExpressions": [{"key": "spot", "operator": "Exists"}]}}
			]
		},
		"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
			{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"team": "ml"}},
				"namespaceSelector": {}}
		]}
	}`)
	if err != nil {
		tb.Fatal(err)
	}
	return affinity
}

func TestParseAffinityRejectsUnknownFields(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "[]", `{"nodeaffinity": {}}`, `{"nodeAffinity": {"required": {}}}`, `{"podAffinity": 1}`,
	} {
		if _, err := manifest.ParseAffinity(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}

func TestObserveIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	seconds := int64(60)
	for name, set := range map[string]func(*manifest.Compute){
		"nothing set": func(*manifest.Compute) {},
		"resources": func(c *manifest.Compute) {
			c.CPUs, c.Memory = quantity(t, "0.5"), quantity(t, "4096Mi")
			c.DiskSize, c.SharedMemoryLimit = quantity(t, "2G"), quantity(t, "1Gi")
		},
		"a server of one's own": func(c *manifest.Compute) {
			c.Command, c.Args, c.Port, c.HealthPath = []string{"serve"}, []string{"-v"}, 8000, "/health?deep=1"
			c.LogLevel, c.Strategy = "", "RollingUpdate"
		},
		"a server that is a script": func(c *manifest.Compute) {
			c.Command, c.Args, c.Port = []string{"/bin/bash", "-c"}, []string{"exec python serve.py"}, 8000
			c.LogLevel, c.Strategy = "", "RollingUpdate"
		},
		"arguments without a port": func(c *manifest.Compute) {
			c.Args, c.LogLevel, c.LaunchTimeout = []string{"--batch"}, "", 0
		},
		"further ports": func(c *manifest.Compute) {
			c.Ports = []manifest.Port{{Name: "metrics", Port: 9090}, {Name: "quic", Port: 32300, Protocol: "UDP"}}
		},
		"further ports without that of a server": func(c *manifest.Compute) {
			c.Args, c.LogLevel, c.LaunchTimeout = []string{"--batch"}, "", 0
			c.Ports = []manifest.Port{{Name: "metrics", Port: 9090}}
		},
		"probes": func(c *manifest.Compute) {
			c.LaunchTimeout = 0 // does not follow from the startup probe
			c.Probes = &manifest.ProbeSettings{
				Startup: &manifest.Probe{Exec: &manifest.Exec{Command: []string{"check", "-v"}}, Period: time.Second,
					FailureThreshold: 600},
				Readiness: &manifest.Probe{GRPC: &manifest.GRPCCheck{Port: 9000, Service: "health"},
					InitialDelay: 5 * time.Second, Timeout: 2 * time.Second, SuccessThreshold: 2},
				Liveness: &manifest.Probe{HTTPGet: &manifest.HTTPGet{Path: "/live", Port: 9001, Scheme: "HTTPS"}},
			}
		},
		"probes of the port of the server": func(c *manifest.Compute) {
			c.Command, c.Port, c.Strategy, c.LogLevel, c.LaunchTimeout = []string{"serve"}, 8000, "RollingUpdate", "", 0
			c.Probes = &manifest.ProbeSettings{
				Startup:   &manifest.Probe{HTTPGet: &manifest.HTTPGet{Path: "/ready"}},
				Readiness: &manifest.Probe{TCPSocket: &manifest.TCPSocket{}},
				Liveness:  &manifest.Probe{GRPC: &manifest.GRPCCheck{}},
			}
		},
		"no probes": func(c *manifest.Compute) { c.Probes, c.LaunchTimeout = &manifest.ProbeSettings{}, 0 },
		"probes of a server without a port": func(c *manifest.Compute) {
			c.Command, c.LogLevel, c.LaunchTimeout = []string{"serve"}, "", 0
			c.Probes = &manifest.ProbeSettings{Liveness: &manifest.Probe{TCPSocket: &manifest.TCPSocket{Port: 1}}}
		},
		"a pause before the end": func(c *manifest.Compute) {
			c.PreStop = &manifest.PreStop{Sleep: new(20 * time.Second)}
		},
		"a request before the end": func(c *manifest.Compute) {
			c.TerminationGracePeriod = new(time.Minute)
			c.PreStop = &manifest.PreStop{HTTPGet: &manifest.HTTPGet{Path: "/drain", Port: 1, Scheme: "HTTPS"}}
		},
		"a command before the end": func(c *manifest.Compute) {
			c.PreStop = &manifest.PreStop{Exec: &manifest.Exec{Command: []string{"drain"}}}
		},
		"limits of a rolling update": func(c *manifest.Compute) {
			c.Replicas, c.Strategy, c.MaxSurge, c.MaxUnavailable = 3, "RollingUpdate", "2", "50%"
		},
		"a server on GPUs, with the limits that it has by default": func(c *manifest.Compute) {
			c.Command, c.Port, c.LogLevel, c.GPUs, c.Replicas = []string{"serve"}, 8000, "", 1, 2
			c.Strategy, c.MaxSurge, c.MaxUnavailable = "RollingUpdate", "0", "1"
		},
		"GPUs of a product": func(c *manifest.Compute) { c.GPUs, c.GPUType = 2, gpuProduct("NVIDIA-L4") },
		"GPUs and tolerations": func(c *manifest.Compute) {
			c.GPUs, c.Tolerations = 1, []corev1.Toleration{{Key: "spot", Operator: "Exists"}}
		},
		"a share of a GPU": func(c *manifest.Compute) { c.GPUMemory = quantity(t, "5Gi") },
		"replicas, with the strategy that Kubetorch uses by default": func(c *manifest.Compute) {
			c.Replicas, c.Strategy = 3, "Recreate"
		},
		"strategy": func(c *manifest.Compute) { c.Replicas, c.Strategy = 3, "RollingUpdate" },
		"limits": func(c *manifest.Compute) {
			c.Memory, c.Limits = quantity(t, "1Gi"), map[string]resource.Quantity{
				"cpu": *quantity(t, "2"), "memory": *quantity(t, "2Gi"), "hugepages-2Mi": *quantity(t, "4Mi"),
			}
		},
		"extra resources": func(c *manifest.Compute) {
			c.ExtendedResources = map[string]resource.Quantity{
				"nvidia.com/mig-1g.5gb": *quantity(t, "1"), "rdma/hca_shared_devices_a": *quantity(t, "1"),
			}
			c.Tolerations = []corev1.Toleration{{Key: "spot", Operator: "Exists"}}
		},
		"labels of the pods": func(c *manifest.Compute) {
			c.Labels, c.PodLabels = map[string]string{"team": "ml"}, map[string]string{"sidecar": "yes", "app": "x"}
		},
		"termination": func(c *manifest.Compute) { c.TerminationGracePeriod = new(time.Duration) },
		"topology spread": func(c *manifest.Compute) {
			c.TopologySpread = []corev1.TopologySpreadConstraint{
				{TopologyKey: "topology.kubernetes.io/zone"}, // with the defaults
				{TopologyKey: "kubernetes.io/hostname", MaxSkew: 2, WhenUnsatisfiable: "ScheduleAnyway"},
			}
		},
		"affinity": func(c *manifest.Compute) { c.Affinity = affinityOf(t) },
		"affinity on nodes without GPUs": func(c *manifest.Compute) {
			c.Affinity, c.GPUAntiAffinity = affinityOf(t), true
		},
		"affinity to pods on nodes without GPUs": func(c *manifest.Compute) {
			c.Affinity, c.GPUAntiAffinity = affinityOf(t), true
			c.Affinity.NodeAffinity = nil
		},
		"labels and annotations": func(c *manifest.Compute) {
			c.Labels = map[string]string{"team": "ml", "empty": ""}
			c.Annotations = map[string]string{"owner": "alice"}
		},
		"another app": func(c *manifest.Compute) { c.Labels = map[string]string{kind.AppLabel: "other"} },
		"scheduling": func(c *manifest.Compute) {
			c.NodeSelector = map[string]string{"zone": "a"}
			c.Tolerations = []corev1.Toleration{{Key: "zone", Operator: "Equal", Value: "a", Effect: "NoExecute",
				TolerationSeconds: &seconds}}
			c.GPUAntiAffinity = true
			c.ServiceAccountName, c.PriorityClassName, c.RuntimeClassName = "runner", "high", new("gvisor")
		},
		"queue of Kueue": func(c *manifest.Compute) {
			c.QueueName, c.QueueScheduler = "team", kind.QueueSchedulerKueue
		},
		"queue of KAI": func(c *manifest.Compute) {
			c.QueueName, c.QueueScheduler = "team", kind.QueueSchedulerKAI
		},
		"container": func(c *manifest.Compute) {
			c.Image, c.ImagePullPolicy, c.WorkingDir = "one:1", "Always", "/work"
			c.ImagePullSecrets = []string{"registry", "mirror"}
			c.EnvVars = map[string]string{"MODE": "fast", "EMPTY": ""}
		},
		"behaviour": func(c *manifest.Compute) {
			c.Freeze, c.LaunchTimeout, c.LogLevel = true, 90*time.Second, "debug"
			c.InactivityTTL, c.AllowedSerialization = "2h", []string{"json", "pickle"}
		},
		"secrets": func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{
				{Name: "tokens", EnvVars: []string{"HF_TOKEN", "WANDB_API_KEY"}, MountPath: "/tokens"},
				{Name: "hf", EnvVars: []string{"A"}, EnvKeys: map[string]string{"B": "token", "C": "A"}},
				{Name: "other-names", EnvKeys: map[string]string{"D": "token"}},
				{Name: "files.of.a-name-that-no-volume-can-have", MountPath: "/files"},
			}
		},
		"ConfigMaps": func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "same-name", EnvVars: []string{"S"}, MountPath: "/secret"}}
			c.ConfigMaps = []manifest.ConfigMapRef{
				{Name: "same-name", EnvVars: []string{"A"}, EnvKeys: map[string]string{"B": "b"}, MountPath: "/one"},
				{Name: "modes", MountPath: "/modes", DefaultMode: new(int32(0o400))},
				{Name: "modes", MountPath: "/more-modes", DefaultMode: new(int32(0))},
				{Name: "files.of.a-name-that-no-volume-can-have", MountPath: "/files"},
			}
		},
		"all keys as variables": func(c *manifest.Compute) {
			c.EnvFrom = []manifest.EnvFrom{{Secret: "a", Prefix: "A_"}, {ConfigMap: "a"}}
		},
		"other containers": func(c *manifest.Compute) {
			c.Volumes = []manifest.VolumeRef{
				{ClaimName: "data", MountPath: "/data", ReadOnly: true},
				{Name: "scratch", EmptyDir: &corev1.EmptyDirVolumeSource{}, MountPath: "/scratch"},
			}
			c.InitContainers = []manifest.Container{
				{Name: "fetch", Image: "fetch:1", ImagePullPolicy: "Never", Command: []string{"fetch"},
					Args: []string{"-v"}, WorkingDir: "/work", EnvVars: map[string]string{"A": "b", "EMPTY": ""},
					EnvFrom: []manifest.EnvFrom{{Secret: "keys", Prefix: "K_"}},
					CPUs:    quantity(t, "1"), Memory: quantity(t, "1Gi"),
					Limits: map[string]resource.Quantity{
						"cpu": *quantity(t, "2"), "example.com/x": *quantity(t, "1")},
					VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/out", SubPath: "models"}}},
				{Name: "check", Image: "check:1"},
			}
			c.Sidecars = []manifest.Container{{Name: "proxy", Image: "proxy:1",
				Ports:        []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9000}, {ContainerPort: 9001}},
				VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/in", ReadOnly: true}}}}
		},
		"network of the node": func(c *manifest.Compute) { c.HostNetwork = true },
		"security of the pod": func(c *manifest.Compute) {
			c.SecurityContext = &manifest.SecurityContext{RunAsUser: new(int64(0)), RunAsGroup: new(int64(1)),
				RunAsNonRoot: new(false), FSGroup: new(int64(0)), SupplementalGroups: []int64{0, 5},
				SeccompProfile: &corev1.SeccompProfile{Type: "RuntimeDefault"}}
		},
		"security of the container": func(c *manifest.Compute) {
			c.SecurityContext = &manifest.SecurityContext{Privileged: new(false), AllowPrivilegeEscalation: new(true),
				ReadOnlyRootFilesystem: new(false), Capabilities: &corev1.Capabilities{
					Add: []corev1.Capability{"IPC_LOCK"}, Drop: []corev1.Capability{"NET_RAW"}}}
		},
		"security of a frozen container": func(c *manifest.Compute) {
			c.Freeze, c.SecurityContext = true, &manifest.SecurityContext{RunAsUser: new(int64(7)),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
		},
		"security of a server of one's own": func(c *manifest.Compute) {
			c.Command, c.LogLevel, c.LaunchTimeout = []string{"serve"}, "", 0
			c.SecurityContext = &manifest.SecurityContext{
				Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE"}}}
		},
		"volumes": func(c *manifest.Compute) {
			c.Volumes = []manifest.VolumeRef{
				{ClaimName: "data", MountPath: "/data", ReadOnly: true},
				{ClaimName: "scratch", MountPath: "/scratch"},
				{ClaimName: "scratch", MountPath: "/parts", SubPath: "one", ReadOnly: true},
				{ClaimName: "secrets-of-a.name.that.is.another", MountPath: "/other"},
			}
		},
		"volumes of all sources": func(c *manifest.Compute) {
			c.ConfigMaps = []manifest.ConfigMapRef{{Name: "a", MountPath: "/keys"}}
			c.Volumes = []manifest.VolumeRef{
				{ConfigMap: "a", MountPath: "/a"}, {Secret: "a", MountPath: "/b", SubPath: "key"},
				{EmptyDir: &corev1.EmptyDirVolumeSource{}, MountPath: "/c"},
				{Name: "memory", MountPath: "/d",
					EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory", SizeLimit: quantity(t, "1Gi")}},
				{HostPath: &corev1.HostPathVolumeSource{Path: "/mnt"}, MountPath: "/e"},
				{HostPath: &corev1.HostPathVolumeSource{Path: "/dev/x", Type: new(corev1.HostPathCharDev)},
					MountPath: "/dev/x"},
				{Image: &corev1.ImageVolumeSource{Reference: "models:1", PullPolicy: "Always"}, MountPath: "/f"},
				{Name: "renamed", ClaimName: "data", MountPath: "/g"},
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.Observe(render(t, minimal(set))[0])
			if diff := cmp.Diff(asSeen(set), got, sameQuantities(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-rendered +observed:\n%s", diff)
			}
		})
	}
}

func sameQuantities() cmp.Option {
	return cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
}

func TestObserveReadsTheCurrentWorkload(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(*manifest.Compute)
		want func(*manifest.Compute)
	}{
		"no replicas while suspended": {
			func(c *manifest.Compute) { c.Replicas, c.Suspend = 3, true },
			func(c *manifest.Compute) { c.Replicas, c.Strategy = 0, "Recreate" },
		},
		"a GPU type by another label is a node selector": {
			func(c *manifest.Compute) {
				c.GPUs, c.GPUType = 1, manifest.NodeLabel{Key: "gpu.vendor/model", Value: "x"}
			},
			func(c *manifest.Compute) {
				c.GPUs, c.NodeSelector = 1, map[string]string{"gpu.vendor/model": "x"}
			},
		},
		"what the template says": {
			func(c *manifest.Compute) {
				c.ServiceTemplate = fromJSON(t, `{"spec": {"replicas": 4, "template": {"spec": {"containers": `+
					`[{"name": "kubetorch", "image": "two:2"}]}}}}`)
			},
			func(c *manifest.Compute) { c.Replicas, c.Image = 4, "two:2" },
		},
		"the provider's defaults among its own": {
			func(c *manifest.Compute) {
				c.DefaultLabels, c.Labels = map[string]string{"org": "x"}, map[string]string{"team": "ml"}
			},
			func(c *manifest.Compute) { c.Labels = map[string]string{"org": "x", "team": "ml"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.Observe(render(t, minimal(test.set))[0])
			if diff := cmp.Diff(asSeen(test.want), got, sameQuantities(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +observed:\n%s", diff)
			}
		})
	}
}

func TestObserveAcceptsObjectsThatAreNotWorkloads(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an empty object": `{}`,
		"an unknown kind": `{"apiVersion": "a/v1", "kind": "B",
			"spec": {"template": {"spec": {"serviceAccountName": "x"}}}}`,
		"a job without pods":   `{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": []}`,
		"a pod that is a list": `{"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"template": []}}`,
		"containers of text": `{"apiVersion": "apps/v1", "kind": "DaemonSet",
			"spec": {"template": {"spec": {"containers": "x"}}}}`,
		"another container": `{"apiVersion": "apps/v1", "kind": "DaemonSet",
			"spec": {"template": {"spec": {"containers": [{"name": "other", "image": "x"}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.Observe(&unstructured.Unstructured{Object: fromJSON(t, text)})
			if diff := cmp.Diff(manifest.Compute{}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("observed what is not there:\n%s", diff)
			}
		})
	}
}

func TestObserveExposeIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]manifest.Expose{
		"the default Ingress": {Hosts: []string{"a.example.com"}},
		"an Ingress": {Hosts: []string{"a.example.com", "b.example.com"}, Path: "/v1", IngressClassName: "nginx",
			TLSSecretName: "certificate", Annotations: map[string]string{"a": "b"}},
		"a route": {Hosts: []string{"a.example.com"}, Path: "/v1", Gateway: &manifest.GatewayRef{Name: "public",
			Namespace: "gateways", SectionName: "https"}, Annotations: map[string]string{"a": "b"}},
		"a route for gRPC": {Hosts: []string{"*.example.com"}, Protocol: "grpc",
			Gateway: &manifest.GatewayRef{Name: "public"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := render(t, minimal(func(c *manifest.Compute) { c.Expose = &want }))
			got := manifest.ObserveRelated(objects[len(objects)-1]).Expose
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("-rendered +observed:\n%s", diff)
			}
		})
	}
}

func TestObserveServiceIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]manifest.Compute{
		"the default": {},
		"ports": {Ports: []manifest.Port{{Name: "metrics", Port: 9090, AppProtocol: "http"},
			{Name: "dns", Port: 53, Protocol: "UDP"}}},
		"a node port": {Service: &manifest.ServiceSettings{Type: "NodePort", ExternalTrafficPolicy: "Local"}},
		"a load balancer": {Service: &manifest.ServiceSettings{Type: "LoadBalancer", LoadBalancerClass: "a/b",
			LoadBalancerSourceRanges: []string{"10.0.0.0/8", "::/0"}, SessionAffinity: "ClientIP",
			Annotations: map[string]string{"a": "", "b": "c"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := render(t, minimal(func(c *manifest.Compute) {
				c.Ports, c.Service, c.InactivityTTL = want.Ports, want.Service, "2h"
				c.AllowedSerialization = []string{"json"}
			}))[1]
			if diff := cmp.Diff(want, manifest.ObserveRelated(service), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-rendered +observed:\n%s", diff)
			}
		})
	}
}

func TestObserveDisruptionBudgetIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	for _, want := range []manifest.DisruptionBudget{
		{MinAvailable: "0"}, {MinAvailable: "50%"}, {MaxUnavailable: "0"}, {MaxUnavailable: "100%"},
	} {
		objects := render(t, minimal(func(c *manifest.Compute) { c.DisruptionBudget = &want }))
		if diff := cmp.Diff(&want, manifest.ObserveRelated(objects[len(objects)-1]).DisruptionBudget); diff != "" {
			t.Errorf("-rendered +observed:\n%s", diff)
		}
	}
}

func TestObserveEndpointIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	for name, endpoint := range map[string]*manifest.Endpoint{
		"own pods":        nil,
		"other pods":      {Selector: map[string]string{"app": "proxy"}},
		"some of our own": {Selector: map[string]string{"kubetorch.com/service": "svc", "role": "head"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := render(t, minimal(func(c *manifest.Compute) { c.Endpoint = endpoint }))[1]
			if diff := cmp.Diff(endpoint, manifest.ObserveEndpoint(service)); diff != "" {
				t.Errorf("-rendered +observed:\n%s", diff)
			}
		})
	}
	if got := manifest.ObserveEndpoint(&unstructured.Unstructured{Object: map[string]any{}}); got != nil {
		t.Errorf("an empty object selects %v", got)
	}
}
