# Computes with H100 GPUs that this provider does not manage, with their configuration.
list "kt_compute" "h100" {
  provider         = kt
  include_resource = true
  limit            = 500

  config {
    all_namespaces = true
    gpu_type       = "NVIDIA-H100-80GB-HBM3"
    managed        = false
  }
}

# Idle computes of one user.
list "kt_compute" "idle" {
  provider = kt

  config {
    label_selector = "team=ml"
    username       = "alice"
    idle           = true
  }
}
