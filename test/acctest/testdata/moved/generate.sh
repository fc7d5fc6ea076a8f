#!/usr/bin/env bash
# Generates the state.json of the peers whose providers can be built; see README.md.
#
#   generate.sh KUBECONFIG TERRAFORM KUBECTL DIR [PEER...]
#
# DIR contains the provider of each peer as DIR/PEER/terraform-provider-*.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export KUBECONFIG=$1 KUBE_CONFIG_PATH=$1 CHECKPOINT_DISABLE=1
terraform=$2 kubectl=$3 providers=$4
shift 4
peers=("$@")
[ $# -gt 0 ] || peers=(kubernetes gavinbunney alekc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TF_CLI_CONFIG_FILE=$work/cli.tfrc
cat > "$TF_CLI_CONFIG_FILE" <<EOF
provider_installation {
  dev_overrides {
    "hashicorp/kubernetes" = "$providers/kubernetes"
    "gavinbunney/kubectl"  = "$providers/gavinbunney"
    "alekc/kubectl"        = "$providers/alekc"
  }
  direct {}
}
EOF
for peer in "${peers[@]}"; do
  namespace=moved-$peer
  mkdir "$work/$peer"
  cp "$here/$peer/main.tf" "$work/$peer/"
  "$kubectl" create namespace "$namespace"
  "$terraform" -chdir="$work/$peer" apply -auto-approve -input=false -var "namespace=$namespace"
  # Objects of the test have other UIDs and another namespace.
  sed "s/$namespace/NAMESPACE/g" "$work/$peer/terraform.tfstate" > "$work/state"
  "$kubectl" get -n "$namespace" deployments,statefulsets,daemonsets,jobs,persistentvolumeclaims,secrets,configmaps \
    -o jsonpath='{range .items[*]}{.metadata.uid} UID/{.kind}/{.metadata.name}{"\n"}{end}' > "$work/uids"
  while read -r uid placeholder; do
    sed -i "s#$uid#$placeholder#g" "$work/state"
  done < "$work/uids"
  jq . "$work/state" > "$here/$peer/state.json"
  "$terraform" -chdir="$work/$peer" destroy -auto-approve -input=false -var "namespace=$namespace"
  "$kubectl" delete namespace "$namespace"
done
