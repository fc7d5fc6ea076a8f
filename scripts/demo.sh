#!/usr/bin/env bash
# Demonstrates the provider end to end on a temporary dev cluster with the vLLM server of the README: apply, an empty
# second plan, drift and its repair, the diagnosis of a failure, destroy. If this machine can run containers, it also
# runs a tensor server in a real pod. Called by `make demo`, which builds the prerequisites. `make picture` sets
# KT_PICTURES to the directory for the pictures of the plan and the failure, and ends after them.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD

cli=${KT_CLI:?run this with: make demo}
devcluster=${KT_DEVCLUSTER:?run this with: make demo}
providers=${KT_PROVIDER_DIR:?run this with: make demo}

say() { printf '\n\033[1m==> %s\033[0m\n' "$*"; }
show() { printf '\033[2m$ %s\033[0m\n' "$*"; }

work=$(mktemp -d)
cluster_pid=
operator_pid=
stop() { # stop PID: does nothing if PID is empty
    [ -n "$1" ] || return 0
    kill -TERM "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}
finish() {
    stop "$operator_pid"
    stop "$cluster_pid"
    rm -rf "$work"
}
trap finish EXIT

say "Starting a control plane (etcd, API server, controllers, scheduler, fake GPU nodes) in one process"
start_cluster() { # start_cluster [ARGUMENT…]: if the cluster fails to start, its stderr is in cluster.err
    "$devcluster" --dir "$work/cluster" --crds test/acctest/testdata/skytorch-compute-crd.yaml \
        --node name=gpu-0,gpus=8,product=NVIDIA-H100-80GB-HBM3 --node name=gpu-1,gpus=8,product=NVIDIA-H100-80GB-HBM3 \
        --node name=cpu-0 "$@" >"$work/cluster.out" 2>"$work/cluster.err" &
    cluster_pid=$!
    until grep -q '^READY ' "$work/cluster.out"; do
        kill -0 "$cluster_pid" 2>/dev/null || return 1
        sleep 0.1
    done
}
missing=
if ! start_cluster --kubelet --image bin/tensor-server.tar; then
    # Without the prerequisites of containers, the dev cluster exits immediately and lists them.
    missing=$(sed -n 's/^devcluster: --kubelet requires/it requires/p' "$work/cluster.err")
    if [ -z "$missing" ] || ! start_cluster; then
        cat "$work/cluster.err" >&2
        exit 1
    fi
fi
kubeconfig=$(sed -n 's/^READY //p' "$work/cluster.out")
kubectl() { show "kubectl $*"; "$devcluster" kubectl --kubeconfig "$kubeconfig" "$@"; }
kubectl get nodes -L nvidia.com/gpu.product
kubectl create namespace ml
kubectl create serviceaccount kubetorch-service-account -n ml

# A provider that is not in a registry is installed from a directory.
for host in registry.terraform.io registry.opentofu.org; do
    plugin=$work/plugins/$host/ktdev/kt/0.0.1/$(go env GOOS)_$(go env GOARCH)
    mkdir -p "$plugin"
    ln -s "$providers/terraform-provider-kt" "$plugin/terraform-provider-kt_v0.0.1"
done
cat >"$work/cli.tfrc" <<EOF
provider_installation {
  filesystem_mirror {
    path = "$work/plugins"
  }
}
EOF
export TF_CLI_CONFIG_FILE=$work/cli.tfrc TF_IN_AUTOMATION=1 KUBE_CONFIG_PATH=$kubeconfig KT_NAMESPACE=ml
mkdir "$work/vllm"
cp examples/vllm/*.tf "$work/vllm/"
cd "$work/vllm"
name=$(basename "$cli")
tf() { show "$name $*"; "$cli" "$@" -no-color 2>&1; }

# picture FILE COMMAND: draws an SVG of the output, with its colors, for `make picture`.
picture() { (show "$2" && echo && cat) | (cd "$repository" && go run ./tools/picture >"$KT_PICTURES/$1.svg"); }
errors() { awk '/╷/ { box = "" } { box = box $0 "\n" } /╵/ { if (box ~ /Error: /) printf "%s", box }'; }

say "This is a vLLM server on one GPU, as in the README"
show "cat main.tf"
cat main.tf

say "The plan shows each field of its Deployment and its Service, and the apply waits until the server is ready"
tf init | sed -n '/Installed/p; /successfully/p'
tf apply -auto-approve | grep -v '^kt_.*: Still'
kubectl get deployments,services,pods -n ml

say "The second plan is empty"
tf plan -detailed-exitcode

say "Somebody changes the server outside of Terraform"
kubectl scale deployment vllm -n ml --replicas=2
kubectl set image deployment/vllm -n ml kubetorch=vllm/vllm-openai:latest

if [ -n "${KT_PICTURES:-}" ]; then
    "$cli" plan | sed -n '/will perform the following/,$p' | sed '/^─/,$d' | picture plan "terraform plan"
fi
say "The next plan shows each changed field, and who changed it"
tf plan

say "The next apply restores exactly these fields"
tf apply -auto-approve | sed -n '/^Plan:/p; /^kt_.*omplete/p; /^Apply/p'
tf plan -detailed-exitcode

say "A failure is diagnosed early: no node has the GPU type NVIDIA-B200. The plan warns, and the apply fails"
sed -i.bak 's/NVIDIA-H100-80GB-HBM3/NVIDIA-B200/' main.tf
show "grep gpu_type main.tf"
grep gpu_type main.tf
if [ -n "${KT_PICTURES:-}" ]; then
    { "$cli" apply -auto-approve 2>&1 || true; } | errors | picture failure "terraform apply"
    exit
fi
if tf apply -auto-approve | sed -n '/^Plan:/p; /Warning:/,$p'; then
    echo "the apply should have failed" >&2
    exit 1
fi

say "The old pod still serves"
kubectl get pods -n ml

say "Destroying: the destroy ends when the last pod has been removed"
tf destroy -auto-approve | sed -n '/^Plan:/p; /^kt_.*: Destr/p; /^Destroy/p'
kubectl get pods -n ml

if [ -n "$missing" ]; then
    say "Skipped: a tensor server in a real pod"
    echo "$missing"
else
    cd "$repository"
    bin/skytorch-operator --kubeconfig "$kubeconfig" >"$work/operator.out" 2>&1 &
    operator_pid=$!
    mkdir "$work/tensors"
    cp scripts/demo/main.tf "$work/tensors/"
    image=$(tar -xOf bin/tensor-server.tar manifest.json | sed -E 's/.*"RepoTags":\["([^"]*)".*/\1/')
    cd "$work/tensors"
    export TF_VAR_image=$image
    tf init | sed -n '/successfully/p'

    say "Pods on node real-0 run real containers. If the command of a tensor server fails, the error contains its last log lines"
    if tf apply -auto-approve -var 'args=["-memory-limit","lots"]' | sed -n '/Error:/,$p'; then
        echo "the apply should have failed" >&2
        exit 1
    fi

    say "With the correct command, the server becomes ready. 64 MiB are sent there and back and compared, and its metrics are read"
    tf apply -auto-approve | sed -n '/^kt_.*omplete/p; /^Outputs:/,$p'
    kubectl get pods -n ml -o wide

    say "Suspending stops the pod; resuming starts it again"
    tf apply -auto-approve -var suspended=true | sed -n '/^kt_.*omplete/p; /^Outputs:/,$p'
    tf apply -auto-approve | sed -n '/^kt_.*omplete/p; /^Outputs:/,$p'

    say "Destroying"
    tf destroy -auto-approve | sed -n '/^kt_.*: Destr/p; /^Destroy/p'
    kubectl get pods -n ml
fi

say "Done. The control plane stops now, and nothing is left behind."
