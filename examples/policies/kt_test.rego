package main

import rego.v1

# A workload that complies with all policies.
compliant := {
	"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}},
	"spec": {"template": {"spec": {"containers": [{
		"name": "kubetorch", "image": "registry.example.com:5000/team/server:1.0",
		"resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "1"}},
	}]}}},
}

pod_at(name) := concat("/", ["/spec/template/spec", name])

planned(manifest) := changed("kt_compute", {
	"actions": ["create"], "after": {"manifests": {"Deployment/ml/x": json.marshal(manifest)}},
})

changed(type, change) := {"resource_changes": [{
	"address": sprintf("%s.x", [type]), "mode": "managed", "type": type, "change": change,
}]}

patched(operation, path, value) := planned(json.patch(compliant, [{"op": operation, "path": path, "value": value}]))

of_compute(text) := sprintf("kt_compute.x: Deployment/ml/x %s", [text])

test_compliant_workload_passes if {
	count(deny) == 0 with input as planned(compliant)
	count(warn) == 0 with input as planned(compliant)
	count(pods) == 1 with input as planned(compliant)
}

test_gpus_need_a_queue if {
	deny == {of_compute("requests GPUs and is in no queue. Set queue_name.")} with input as patched("replace", "/metadata/labels", {})
}

test_gpus_of_intel_need_a_queue if {
	text := of_compute("requests GPUs and is in no queue. Set queue_name.")
	every name, denied in {"i915": {text}, "xe": {text}, "i915_monitoring": set()} {
		limits := {"op": "replace", "path": pod_at("containers/0/resources/limits"), "value": {concat("/", ["gpu.intel.com", name]): "1"}}
		labels := {"op": "replace", "path": "/metadata/labels", "value": {}}
		deny == denied with input as planned(json.patch(compliant, [limits, labels]))
	}
}

# A tensor server that complies with all policies, except that its GPU is in no queue.
tensor_server := {
	"kind": "Compute",
	"metadata": {"name": "x"},
	"spec": {
		"image": "server:1.0", "resources": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
		"override": {"containers": [{"name": "server", "env": []}]},
	},
}

patched_server(changes) := changed("kt_compute", {
	"actions": ["create"],
	"after": {"manifests": {"Compute/ml/x": json.marshal(json.patch(tensor_server, changes))}},
})

test_tensor_servers_are_checked if {
	no_gpu := {"op": "remove", "path": "/spec/resources/nvidia.com~1gpu"}
	count(deny) == 0 with input as patched_server([no_gpu])
	count(pods) == 1 with input as patched_server([no_gpu])
	access := "has access to the node: host network, host processes, hostPath or privileged."
	every text, change in {
		"requests GPUs and is in no queue. Tensor servers have no queue_name. Use another runtime, or except them from this policy.": [],
		"has an image without a fixed version: server:latest. Set a tag or a digest.": [no_gpu, {"op": "replace", "path": "/spec/image", "value": "server:latest"}],
		"has a container server that requests no memory.": [no_gpu, {"op": "remove", "path": "/spec/resources/memory"}],
		access: [no_gpu, {"op": "add", "path": "/spec/override/hostNetwork", "value": true}],
	} {
		deny == {sprintf("kt_compute.x: Compute/ml/x %s", [text])} with input as patched_server(change)
	}
	host_path := {"op": "add", "path": "/spec/override/volumes", "value": [{"name": "a", "hostPath": {"path": "/"}}]}
	deny == {sprintf("kt_compute.x: Compute/ml/x %s", [access])} with input as patched_server([no_gpu, host_path])
}

test_a_queue_of_the_pods_is_enough if {
	template := {"metadata": {"labels": {"kai.scheduler/queue": "team"}}, "spec": compliant.spec.template.spec}
	count(deny) == 0 with input as planned({"spec": {"template": template}})
	count(pods) == 1 with input as planned({"spec": {"template": template}})
}

test_images_need_a_fixed_version if {
	every image in ["server", "server:latest", "registry.example.com:5000/team/server"] {
		text := sprintf("has an image without a fixed version: %s. Set a tag or a digest.", [image])
		deny == {of_compute(text)} with input as patched("replace", pod_at("containers/0/image"), image)
	}
	every image in ["server:1.0", "server@sha256:0123"] {
		count(deny) == 0 with input as patched("replace", pod_at("containers/0/image"), image)
	}
}

test_containers_need_requests if {
	deny == {of_compute("has a container kubetorch that requests no cpu.")} with input as patched("replace", pod_at("containers/0/resources/requests"), {"memory": "1Gi"})
}

test_sidecars_need_requests if {
	sidecar := {"name": "proxy", "image": "proxy:1.0", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
	deny == {of_compute("has a container proxy that requests no memory.")} with input as patched("add", pod_at("initContainers"), [sidecar])
	count(deny) == 0 with input as patched("add", pod_at("initContainers"), [object.remove(sidecar, ["restartPolicy"])])
}

test_pods_have_no_access_to_the_node if {
	text := of_compute("has access to the node: host network, host processes, hostPath or privileged.")
	every name, value in {
		"hostNetwork": true, "hostPID": true, "volumes": [{"name": "a", "hostPath": {"path": "/"}}],
		"containers/0/securityContext": {"privileged": true},
	} {
		deny == {text} with input as patched("add", pod_at(name), value)
	}
}

test_volumes_are_not_deleted if {
	every actions in [["delete"], ["delete", "create"], ["create", "delete"]] {
		deny == {"kt_volume.x: The plan deletes a volume with its data."} with input as changed("kt_volume", {"actions": actions, "before": {}, "after": null})
	}
}

test_unknown_registration_is_not_reported if {
	count(warn) == 0 with input as changed("kt_compute", {
		"actions": ["create"], "after": {}, "after_unknown": {"manifests": {"KubetorchWorkload/ml/x": true}},
	})
}

test_unknown_objects_are_reported if {
	every unknown in [true, {"Deployment/ml/x": true}] {
		count(warn) == 1 with input as changed("kt_compute", {
			"actions": ["create"], "after": {}, "after_unknown": {"manifests": unknown},
		})
	}
}
