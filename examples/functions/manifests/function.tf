# The objects of a compute, without a cluster: for policies, tests and reviews.
locals {
  objects = provider::kt::manifests({
    name      = "trainer"
    namespace = "ml"
    gpus      = 8
    replicas  = 2
  })
}

output "objects" {
  value = keys(local.objects) # Deployment/ml/trainer, Service/ml/trainer
}

output "gpu_limit" {
  value = jsondecode(local.objects["Deployment/ml/trainer"]).spec.template.spec.containers[0].resources.limits["nvidia.com/gpu"]
}
