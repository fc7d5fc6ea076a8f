# The provider does not manage Kueue's queues, so kubectl applies them. With the
# hashicorp/kubernetes provider, use kubernetes_manifest instead.
locals {
  queue = [
    {
      apiVersion = "kueue.x-k8s.io/v1beta1"
      kind       = "ResourceFlavor"
      metadata   = { name = var.team }
      spec       = { nodeLabels = { "nvidia.com/gpu.product" = var.gpu_type } }
    },
    {
      apiVersion = "kueue.x-k8s.io/v1beta1"
      kind       = "ClusterQueue"
      metadata   = { name = var.team }
      spec = {
        namespaceSelector = {}
        resourceGroups = [{
          coveredResources = ["cpu", "memory", "nvidia.com/gpu"]
          flavors = [{
            name = var.team
            resources = [
              { name = "cpu", nominalQuota = tostring(8 * var.gpus) },
              { name = "memory", nominalQuota = "${64 * var.gpus}Gi" },
              { name = "nvidia.com/gpu", nominalQuota = tostring(var.gpus) },
            ]
          }]
        }]
      }
    },
    {
      apiVersion = "kueue.x-k8s.io/v1beta1"
      kind       = "LocalQueue"
      metadata   = { name = var.team }
      spec       = { clusterQueue = var.team }
    },
  ]
}

resource "terraform_data" "queue" {
  triggers_replace = join("---\n", [for object in local.queue : yamlencode(object)])

  provisioner "local-exec" {
    command     = "printf '%s' \"$OBJECTS\" | kubectl apply -f -"
    environment = { OBJECTS = self.triggers_replace }
  }
}

# A separate resource, because a change of the quota must not delete the queue.
resource "terraform_data" "queue_removal" {
  input = var.team

  provisioner "local-exec" {
    when    = destroy
    command = "kubectl delete --ignore-not-found localqueue/${self.input} clusterqueue/${self.input} resourceflavor/${self.input}"
  }
}
