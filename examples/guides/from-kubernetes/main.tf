# A kubernetes_deployment, with its spec as the manifest of a compute. The main container has the name kubetorch. It
# has its own command, and therefore does not run Kubetorch's server.
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
          terminationGracePeriodSeconds = 60
          containers = [{
            name    = "kubetorch"
            image   = "registry.example.com/shop/web:1.4.2"
            command = ["/app/serve", "--port=8080"]
            ports   = [{ name = "http", containerPort = 8080 }]
            resources = {
              requests = { cpu = "500m", memory = "512Mi" }
            }
            readinessProbe = {
              httpGet = { path = "/healthz", port = 8080 }
            }
          }]
        }
      }
    }
  })
}
