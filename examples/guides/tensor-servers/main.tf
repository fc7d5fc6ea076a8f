# A tensor server with one GPU, run by the SkyTorch operator.
resource "kt_compute" "tensors" {
  name    = "tensors"
  runtime = "skytorch"
  cpus    = 4
  memory  = "16Gi"
  gpus    = 1

  env_vars = {
    SKYTORCH_METRICS_SOURCES = "nvidia-gpu"
  }

  # The claim has the name of the template, which must therefore be unique in the namespace.
  volume_claim_templates = [
    {
      name       = "tensors-scratch"
      size       = "10Gi"
      mount_path = "/scratch"
    },
  ]

  timeouts = {
    create = "10m"
  }
}

# Addresses of the server. Terraform reads them when the compute is ready.
data "kt_endpoint" "tensors" {
  id         = kt_compute.tensors.id
  depends_on = [kt_compute.tensors]
}

output "grpc_target" {
  description = "Target for gRPC clients inside the cluster."
  value       = kt_compute.tensors.grpc_target
}

output "gateways" {
  description = "Targets for gRPC clients outside of the cluster. Empty without a gateway."
  value       = data.kt_endpoint.tensors.gateway_addresses
}
