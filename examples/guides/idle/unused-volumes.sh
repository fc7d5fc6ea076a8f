#!/usr/bin/env bash
# Lists the volumes of all namespaces that no pod uses, as namespace/name. Requires kubectl and jq.
set -euo pipefail

# Volumes of pods that run or wait.
used=$(kubectl get pods --all-namespaces --output=json | jq -r '.items[]
	| select(.status.phase != "Succeeded" and .status.phase != "Failed")
	| .metadata.namespace as $namespace
	| .spec.volumes[]?.persistentVolumeClaim | values | "\($namespace)/\(.claimName)"')

terraform query -json | jq -r --arg used "$used" 'select(.type == "list_resource_found").list_resource_found
	| select(.resource_type == "kt_volume")
	| "\(.identity.namespace)/\(.identity.name)"
	| select(IN($used | split("\n")[]) | not)'
