# Policies for plans of this provider, for conftest. They check the objects in the attribute manifests, so they apply to
# attributes, manifests and templates alike:
#
#   terraform plan -out plan.tfplan
#   terraform show -json plan.tfplan | conftest test --parser json --policy examples/policies -
package main

import rego.v1

# Labels that put a workload into a queue of Kueue or KAI.
queue_labels := {"kueue.x-k8s.io/queue-name", "kai.scheduler/queue"}

# Resources that each container must request, so that it takes nothing from other pods.
required_requests := {"cpu", "memory"}

# Changes that create or update objects.
changes contains change if {
	some change in input.resource_changes
	change.mode == "managed"
	startswith(change.type, "kt_")
	change.change.after != null
	change.change.actions != ["no-op"]
}

# The objects that the apply sends, by the address of their resource.
objects contains {"address": change.address, "key": key, "content": json.unmarshal(text)} if {
	some change in changes
	some key, text in change.change.after.manifests
	text != null
}

# The pod templates in these objects, at any depth. A label of the object counts as one of its pods.
pods contains {"address": found.address, "key": found.key, "labels": labels, "spec": template.spec} if {
	some found in objects
	walk(found.content, [_, template])
	is_object(template)
	count(object.get(template, ["spec", "containers"], [])) > 0
	labels := object.union(
		object.get(found.content, ["metadata", "labels"], {}),
		object.get(template, ["metadata", "labels"], {}),
	)
}

# The pod of a tensor server, whose object has the fields of the container in its spec, and others of the pod in override.
pods contains {"address": found.address, "key": found.key, "labels": labels, "spec": spec} if {
	some found in objects
	found.content.kind == "Compute"
	labels := object.union(
		object.get(found.content, ["metadata", "labels"], {}),
		object.get(found.content, ["spec", "labels"], {}),
	)
	override := object.get(found.content, ["spec", "override"], {})
	others := object.get(override, "containers", [])
	requests := {"name": "server", "resources": {"requests": object.get(found.content, ["spec", "resources"], {})}}
	server := object.union_n(array.concat(
		[container | some container in others; container.name == "server"],
		[object.filter(found.content.spec, ["image"]), requests],
	))
	spec := object.union(override, {"containers": array.concat(
		[server],
		[container | some container in others; container.name != "server"],
	)})
}

containers(pod) := array.concat(pod.spec.containers, object.get(pod.spec, "initContainers", []))

# The containers that run as long as the pod: init containers that are always restarted are sidecars.
lasting_containers(pod) := array.concat(
	pod.spec.containers,
	[container | some container in object.get(pod.spec, "initContainers", []); container.restartPolicy == "Always"],
)

requests_gpus(pod) if {
	some container in containers(pod)
	some section in ["requests", "limits"]
	some resource, _ in container.resources[section]
	regex.match(`/(gpu|mig-)|^gpu\.intel\.com/(i915|xe)$`, resource)
}

has_fixed_version(image) if contains(image, "@")

has_fixed_version(image) if {
	tag := regex.find_n(`:[^:/]+$`, image, 1)[0]
	tag != ":latest"
}

shares_host(pod) if pod.spec.hostNetwork

shares_host(pod) if pod.spec.hostPID

shares_host(pod) if {
	some volume in pod.spec.volumes
	volume.hostPath
}

shares_host(pod) if {
	some container in containers(pod)
	container.securityContext.privileged
}

deny contains message(pod, sprintf("requests GPUs and is in no queue. %s", [next_step(pod)])) if {
	some pod in pods
	requests_gpus(pod)
	count(queue_labels & object.keys(pod.labels)) == 0
}

next_step(pod) := "Set queue_name." if not is_tensor_server(pod)

next_step(pod) := "Tensor servers have no queue_name. Use another runtime, or except them from this policy." if {
	is_tensor_server(pod)
}

is_tensor_server(pod) if startswith(pod.key, "Compute/")

deny contains message(pod, sprintf("has an image without a fixed version: %s. Set a tag or a digest.", [image])) if {
	some pod in pods
	some container in containers(pod)
	image := container.image
	not has_fixed_version(image)
}

deny contains message(pod, sprintf("has a container %s that requests no %s.", [container.name, resource])) if {
	some pod in pods
	some container in lasting_containers(pod)
	requests := object.get(container, ["resources", "requests"], {})
	limits := object.get(container, ["resources", "limits"], {})
	some resource in (required_requests - (object.keys(requests) | object.keys(limits)))
}

deny contains message(pod, "has access to the node: host network, host processes, hostPath or privileged.") if {
	some pod in pods
	shares_host(pod)
}

deny contains sprintf("%s: The plan deletes a volume with its data.", [change.address]) if {
	some change in input.resource_changes
	change.type == "kt_volume"
	"delete" in change.change.actions
}

warn contains sprintf("%s: The objects are known after apply, so the policies do not check them.", [change.address]) if {
	some change in changes
	is_unknown(change.change.after_unknown.manifests)
}

is_unknown(manifests) if manifests == true

is_unknown(manifests) if {
	some key, unknown in manifests
	unknown == true
	not startswith(key, "KubetorchWorkload/") # has no pods, and is unknown while Kubetorch's CRD is not installed
}

message(pod, text) := sprintf("%s: %s %s", [pod.address, pod.key, text])
