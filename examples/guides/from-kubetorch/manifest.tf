# kt.Compute.from_manifest(manifest, selector={"app": "my-workers"})
resource "kt_compute" "workers" {
  name     = "my-workers"
  selector = { app = "my-workers" }

  manifest = yamlencode({
    apiVersion = "apps/v1"
    kind       = "Deployment"
    spec = {
      replicas = 2
      template = {
        metadata = {
          labels = { app = "my-workers", team = "ml" }
        }
        spec = {
          containers = [{
            name  = "kubetorch"
            image = "registry.example.com/ml/workers:1.0"
          }]
        }
      }
    }
  })
}

# kt.Compute(selector={"app": "my-workers", "team": "ml"}): pods that exist already. Here they are the pods above.
resource "kt_compute" "pool" {
  name       = "pool"
  selector   = { app = "my-workers", team = "ml" }
  depends_on = [kt_compute.workers]
}

# endpoint=kt.Endpoint(url="..."): calls use this address, and no Service is created.
resource "kt_compute" "behind_proxy" {
  name     = "behind-proxy"
  cpus     = "1"
  endpoint = { url = "http://my-svc.my-ns.svc.cluster.local:8080" }
}
