# Instead of a kubernetes_deployment, whose spec is the manifest.
moved {
  from = kubernetes_deployment.web
  to   = kt_compute.web
}

resource "kt_compute" "web" {
  name                 = "web"
  freeze               = true
  service_account_name = "default"

  manifest = yamlencode({
    apiVersion = "apps/v1"
    kind       = "Deployment"
    spec = {
      replicas = 2
      strategy = { type = "RollingUpdate" }
      template = {
        spec = {
          containers = [{
            name    = "kubetorch"
            image   = "registry.example.com/shop/web:1.4.2"
            command = ["/app/serve", "--port=8080"]
            ports   = [{ name = "http", containerPort = 8080 }]
          }]
        }
      }
    }
  })
}
