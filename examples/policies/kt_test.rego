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
