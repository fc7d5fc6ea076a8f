variable "kubeconfig" {
  type = string
}

variable "namespace" {
  type = string
}

provider "kt" {
  config_path    = var.kubeconfig
  namespace      = var.namespace
  username       = "alice"
  launch_timeout = "10m"
  default_labels = { org = "research" }
}

resource "kt_image" "torch" {
  name     = "torch"
  image_id = "debian:12"
  steps    = [{ pip_install = ["torch==2.5.1"] }, { set_env_vars = { A = "1" } }]
}

resource "kt_volume" "data" {
  name        = "data"
  size        = "1Gi"
  access_mode = "ReadWriteOnce"
  mount_path  = "/data"
  labels      = { team = "ml" }
}

resource "kt_secret" "given" {
  name   = "given"
  values = { TOKEN = "not-a-secret", MODE = "test" }
}

resource "kt_secret" "written" {
  name              = "written"
  values_wo         = { TOKEN = "not-a-secret-either" }
  values_wo_version = 1
}

# Everything that a Deployment's template can have, and an empty text.
resource "kt_compute" "full" {
  name                  = "full"
  cpus                  = "500m"
  memory                = "1024Mi"
  disk_size             = "1Gi"
  shared_memory_limit   = "2Gi"
  replicas              = 2
  image_ref             = kt_image.torch.ref
  labels                = { team = "ml" }
  annotations           = { note = "" }
  env_vars              = { A = "1", EMPTY = "", PATH = "$PATH:/custom" }
  secrets               = [kt_secret.given.ref, { name = kt_secret.written.name, mount_path = "/etc/written" }]
  volumes               = [kt_volume.data.ref]
  tolerations           = [{ key = "spot", operator = "Exists", effect = "NoExecute", toleration_seconds = 60 }]
  inactivity_ttl        = "2h"
  launch_timeout        = "90s"
  allowed_serialization = ["json", "pickle"]
  logging_config        = { level = "debug", stream_logs = false }
  service_template      = jsonencode({ spec = { template = { spec = { hostNetwork = true } } } })
}

resource "kt_compute" "plain" {
  name = "plain"
}

resource "kt_compute" "gpus" {
  name         = "gpus"
  gpus         = 1
  gpu_type     = "NVIDIA-L4"
  on_not_ready = "ignore"
}

resource "kt_compute" "headless" {
  name              = "headless"
  gpu_anti_affinity = true
  distribute        = { type = "pytorch", workers = 2, quorum_timeout = "5m" }
  on_not_ready      = "ignore"
}

resource "kt_compute" "knative" {
  name         = "knative"
  autoscale    = { min_scale = 1, max_scale = 4, target = 5, window = "90s" }
  on_not_ready = "ignore"
}

resource "kt_compute" "ray" {
  name         = "ray"
  distribute   = { type = "ray", workers = 3 }
  on_not_ready = "ignore"
}

resource "kt_compute" "queued" {
  name         = "queued"
  queue_name   = "team-a"
  on_not_ready = "ignore"
  manifest     = "{apiVersion: batch/v1, kind: Job, spec: {backoffLimit: 0, template: {spec: {containers: [{name: kubetorch}]}}}}"
}

resource "kt_compute" "script" {
  name         = "script"
  on_not_ready = "ignore"
  manifest     = <<-E
    apiVersion: batch/v1
    kind: CronJob
    spec:
      schedule: "0 3 * * *"
      jobTemplate:
        spec:
          template:
            spec:
              containers: [{name: kubetorch, command: [python, train.py]}]
  E
}

resource "kt_compute" "stateful" {
  name         = "stateful"
  on_not_ready = "ignore"
  manifest     = "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2, template: {spec: {containers: [{name: kubetorch}]}}}}"
}

resource "kt_compute" "jobs" {
  name         = "jobs"
  on_not_ready = "ignore"
  manifest     = <<-E
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    spec:
      suspend: false
      replicatedJobs:
        - name: workers
          replicas: 1
          template:
            spec:
              parallelism: 2
              completions: 2
              template:
                spec:
                  containers: [{name: kubetorch}]
  E
}

resource "kt_compute" "training" {
  name         = "training"
  on_not_ready = "ignore"
  manifest     = <<-E
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    spec:
      pytorchReplicaSpecs:
        Master:
          replicas: 1
          template:
            spec:
              containers: [{name: pytorch}]
        Worker:
          replicas: 2
          template:
            spec:
              containers: [{name: pytorch}]
  E
}

resource "kt_compute" "selected" {
  name         = "selected"
  selector     = { app = "mine" }
  on_not_ready = "ignore"
}

resource "kt_compute" "suspended" {
  name    = "suspended"
  suspend = true
}

resource "kt_compute" "tensors" {
  name         = "tensors"
  runtime      = "skytorch"
  image        = "mine:1"
  env_vars     = { MODE = "fast" }
  on_not_ready = "ignore"
}
