# A StatefulSet whose pods run Kubetorch's server, because the manifest sets no command.
resource "kt_compute" "workers" {
  name   = "workers"
  memory = "2Gi"

  manifest = yamlencode({
    apiVersion = "apps/v1"
    kind       = "StatefulSet"
    spec       = { replicas = 2 }
  })
}

# Only a Service and the registration with Kubetorch, for pods of another owner. Here they are the pods above.
resource "kt_compute" "pool" {
  name       = "pool"
  selector   = { app = "workers" }
  depends_on = [kt_compute.workers]
}
