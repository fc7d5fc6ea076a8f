package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// A rule is what Kubetorch's server, client or controller expects of an object. Without it, something of Kubetorch does
// not work with a compute of the provider.
type rule struct {
	name string
	// source is the place in Kubetorch 0.5.0 (github.com/run-house/kubetorch), below python_client/kubetorch.
	source string
	of     string // a compute of kubetorchComputes
	object string // kind of the object; two Services differ by " headless"
	path   string // JSON pointer
	want   any    // the value; a text after "…" is a part of it
}

// kubetorchComputes are the computes of the rules.
func kubetorchComputes(t *testing.T) map[string]manifest.Compute {
	t.Helper()
	training := fromJSON(t, `{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": {`+
		`"Master": {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a:1"}]}}}, `+
		`"Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a:1"}]}}}}}}`)
	return map[string]manifest.Compute{
		"plain":  minimal(),
		"frozen": minimal(func(c *manifest.Compute) { c.Freeze = true }),
		"ttl":    minimal(func(c *manifest.Compute) { c.InactivityTTL = "2h" }),
		"loaded": minimal(func(c *manifest.Compute) {
			c.Load = &manifest.Load{ModuleName: "work", ClsOrFnName: "add"}
		}),
		"spread": minimal(func(c *manifest.Compute) {
			c.Replicas, c.ReplicasGiven = 3, true
			c.Distribute = &manifest.Distribute{Type: "pytorch", Workers: 3}
		}),
		"ray": minimal(func(c *manifest.Compute) {
			c.Replicas, c.ReplicasGiven = 3, true
			c.Distribute = &manifest.Distribute{Type: "ray", Workers: 3}
		}),
		"knative":  minimal(func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} }),
		"training": minimal(func(c *manifest.Compute) { c.Manifest = training }),
	}
}

const (
	setupScript  = "provisioning/templates/kt_setup_template.sh.j2"
	podTemplate  = "provisioning/templates/pod_template.yaml"
	manager      = "provisioning/service_manager.py"
	constants    = "provisioning/constants.py"
	httpServer   = "serving/http_server.py"
	scriptAt     = "/spec/template/spec/containers/0/args/0"
	containerAt  = "/spec/template/spec/containers/0"
	serviceLabel = "/metadata/labels/kubetorch.com~1service"
)

func kubetorchRules() []rule {
	return []rule{
		// Start-up
		{"file descriptors", setupScript + ": ulimit", "plain", "Deployment", scriptAt, "…ulimit -Sn"},
		{"no warnings of uv", setupScript + ": UV_LINK_MODE", "plain", "Deployment", scriptAt, "…UV_LINK_MODE=copy"},
		{"port of the server", setupScript + ": KT_SERVER_PORT", "plain", "Deployment", scriptAt,
			"…KT_SERVER_PORT=32300"},
		{"no sync of code", setupScript + ": KT_FREEZE", "frozen", "Deployment", scriptAt, "…KT_FREEZE=True"},
		{"namespace of the controller", setupScript + ": KT_INSTALL_NAMESPACE", "plain", "Deployment", scriptAt,
			"…KT_INSTALL_NAMESPACE=kubetorch"},
		{"name of the service", setupScript + ": KT_SERVICE", "plain", "Deployment", scriptAt, "…KT_SERVICE=svc"},
		{"python3 before python", setupScript + ": python_bin", "plain", "Deployment", scriptAt,
			"…command -v python3 || command -v python"},
		{"rsync for live code", setupScript + ": rsync", "plain", "Deployment", scriptAt, "…install -y rsync"},
		{"command that installs packages", setupScript + ": KT_PIP_INSTALL_CMD", "plain", "Deployment", scriptAt,
			"…export KT_PIP_INSTALL_CMD"},
		{"file with this command", setupScript + ": kt_pip_install_cmd", "plain", "Deployment", scriptAt,
			"….kt/kt_pip_install_cmd"},
		{"version of the server", setupScript + ": install_url", "plain", "Deployment", scriptAt,
			"…kubetorch[server]==" + manifest.KubetorchVersion},
		{"server", setupScript + ": uvicorn", "plain", "Deployment", scriptAt,
			"…-m uvicorn kubetorch.serving.http_server:app --host 0.0.0.0 --port 32300"},
		{"shell", podTemplate + ": command", "plain", "Deployment", containerAt + "/command/0", "/bin/bash"},
		{"name of the port", podTemplate + ": ports", "plain", "Deployment", containerAt + "/ports/0/name", "http1"},
		{"debugger", podTemplate + ": securityContext", "plain", "Deployment",
			containerAt + "/securityContext/capabilities/add/0", "SYS_PTRACE"},
		{"no debugger in a frozen pod", podTemplate + ": securityContext", "frozen", "Deployment",
			containerAt + "/securityContext/capabilities/add/0", nil},
		{"shared memory", podTemplate + ": volumes", "plain", "Deployment",
			"/spec/template/spec/volumes/0/emptyDir/medium",
			"Memory"},
		{"path of the probes", podTemplate + ": startupProbe", "plain", "Deployment",
			containerAt + "/startupProbe/httpGet/path", "/health"},
		{"launch_timeout", podTemplate + ": startupProbe.failureThreshold", "plain", "Deployment",
			containerAt + "/startupProbe/failureThreshold", int64(180)},

		// Labels
		{"label of the workload", constants + ": KT_SERVICE_LABEL", "plain", "Deployment", serviceLabel, "svc"},
		{"label of the pods", manager + ": _apply_template_metadata_updates", "plain", "Deployment",
			"/spec/template" + serviceLabel, "svc"},
		{"label app", constants + ": KT_APP_LABEL", "plain", "Deployment", "/metadata/labels/app", "svc"},
		{"label of the user", constants + ": KT_USERNAME_LABEL", "plain", "Deployment",
			"/metadata/labels/kubetorch.com~1username", "alice"},
		{"template of a Deployment", manager + ": _get_labels", "plain", "Deployment",
			"/metadata/labels/kubetorch.com~1template", "deployment"},
		{"template of a Knative Service", manager + ": _get_labels", "knative", "Service",
			"/metadata/labels/kubetorch.com~1template", "ksvc"},
		{"template of a RayCluster", manager + ": _get_labels", "ray", "RayCluster",
			"/metadata/labels/kubetorch.com~1template", "raycluster"},
		{"no template label on pods", manager + ": _apply_kubetorch_metadata_to_manifest", "plain", "Deployment",
			"/spec/template/metadata/labels/kubetorch.com~1template", nil},
		{"TTL of the workload", manager + ": _get_annotations", "ttl", "Deployment",
			"/metadata/annotations/kubetorch.com~1inactivity-ttl", "2h"},
		{"TTL for kt list", constants + ": KT_INACTIVITY_TTL_LABEL", "ttl", "KubetorchWorkload",
			"/metadata/labels/kubetorch.com~1inactivity-ttl", "2h"},

		// Environment: the server loads a function from it, if no controller has sent one
		{"module of a function", httpServer + ": KT_MODULE_NAME", "loaded", "Deployment",
			containerAt + "/env/KT_MODULE_NAME",
			"work"},
		{"name of a function", httpServer + ": KT_CLS_OR_FN_NAME", "loaded", "Deployment",
			containerAt + "/env/KT_CLS_OR_FN_NAME", "add"},
		{"arguments of a class", httpServer + ": KT_INIT_ARGS", "loaded", "Deployment",
			containerAt + "/env/KT_INIT_ARGS",
			"null"},
		{"no distribution", httpServer + ": KT_DISTRIBUTED_CONFIG", "loaded", "Deployment",
			containerAt + "/env/KT_DISTRIBUTED_CONFIG", "null"},

		// Services
		{"port of the Service", constants + ": DEFAULT_K8S_SERVICE_PORT", "plain", "Service", "/spec/ports/0/port",
			int64(80)},
		{"port of the pods", constants + ": DEFAULT_KT_SERVER_PORT", "plain", "Service", "/spec/ports/0/targetPort",
			int64(32300)},
		{"pods of the Service", manager + ": _resolve_service_config", "plain", "Service",
			"/spec/selector/kubetorch.com~1service", "svc"},
		{"no headless Service for one pod", "resources/compute/compute.py: needs_headless", "plain", "Service headless",
			"/spec/clusterIP", nil},
		{"headless Service of workers", "resources/compute/compute.py: needs_headless", "spread", "Service headless",
			"/spec/clusterIP", "None"},
		{"headless Service of a RayCluster", "resources/compute/compute.py: needs_headless", "ray", "Service headless",
			"/spec/clusterIP", "None"},
		{"headless Service of a training job", "resources/compute/compute.py: needs_headless", "training",
			"Service headless", "/spec/clusterIP", "None"},
		{"workers before they are ready", "serving/distributed_supervisor.py: pod_ips", "spread", "Service headless",
			"/spec/publishNotReadyAddresses", true},

		// Registration
		{"pods of the compute", manager + ": _apply_and_register_workload", "plain", "KubetorchWorkload",
			"/spec/selector/kubetorch.com~1service", "svc"},
		{"Service of the compute", manager + ": _resolve_service_config", "plain", "KubetorchWorkload",
			"/spec/serviceConfig/name", "svc"},
		{"URL of a Knative Service", manager + ": get_endpoint", "knative", "KubetorchWorkload",
			"/spec/serviceConfig/url",
			"http://svc.ml.svc.cluster.local"},
		{"port of calls", manager + ": server_port", "plain", "KubetorchWorkload", "/spec/serverPort", int64(32300)},
		{"mode", manager + ": _load_workload_metadata", "plain", "KubetorchWorkload",
			"/spec/workloadMetadata/deploymentMode", "deployment"},
		{"kind for the controller", manager + ": resource_type", "plain", "KubetorchWorkload", "/spec/resourceKind",
			"Deployment"},
		{"distribution", manager + ": _load_workload_metadata", "spread", "KubetorchWorkload",
			"/spec/workloadMetadata/distributedConfig/distribution_type", "pytorch"},
		{"distribution of a training job", manager + ": _preprocess_trainjob_manifest", "training", "KubetorchWorkload",
			"/spec/workloadMetadata/distributedConfig/distribution_type", "spmd"},
		{"headless Service by the controller", manager + ": create_headless_service", "ray", "KubetorchWorkload",
			"/spec/createHeadlessService", true},
		{"TTL for the controller", manager + ": auto_termination", "ttl", "KubetorchWorkload",
			"/spec/autoTermination/inactivityTtl", "2h"},
	}
}

func TestRulesOfKubetorch(t *testing.T) {
	t.Parallel()
	rendered := map[string]map[string]map[string]any{} // leaves by compute and kind
	for name, compute := range kubetorchComputes(t) {
		compute.Registered = true
		rendered[name] = map[string]map[string]any{}
		for _, object := range render(t, compute) {
			kind := object.GetKind()
			if strings.HasSuffix(object.GetName(), "-headless") {
				kind += " headless"
			} else if kind == "Service" && rendered[name][kind] != nil {
				continue // of a Knative Service, which is rendered first
			}
			rendered[name][kind] = withVariables(leaves(object.Object))
		}
	}
	for _, r := range kubetorchRules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got := rendered[r.of][r.object][r.path]
			part, contains := strings.CutPrefix(fmt.Sprint(r.want), "…")
			if contains && strings.Contains(fmt.Sprint(got), part) || got == r.want {
				return
			}
			t.Errorf("%s of the %s %q is %v, but %s needs %v", r.path, r.object, r.of, got, r.source, r.want)
		})
	}
}

// withVariables adds the environment variables by name.
func withVariables(all map[string]any) map[string]any {
	for i := range 20 {
		at := fmt.Sprintf("%s/env/%d/", containerAt, i)
		if name, ok := all[at+"name"].(string); ok {
			all[containerAt+"/env/"+name] = all[at+"value"]
		}
	}
	return all
}
