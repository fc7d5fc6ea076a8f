# A server that clients outside of the cluster reach as https://chat.example.com, through an ingress controller.
resource "kt_compute" "chat" {
  name     = "chat"
  cpus     = 2
  memory   = "4Gi"
  replicas = 3

  # An update starts one new pod, and stops an old one only when it is ready.
  max_surge       = 1
  max_unavailable = 0

  service_account_name = "default"

  image       = "registry.example.com/chat/server:1.0.0"
  command     = ["/app/server"]
  port        = 8080
  health_path = "/healthz"

  expose = {
    hosts              = ["chat.example.com"]
    ingress_class_name = "nginx"
    tls_secret_name    = "chat-certificate"
    annotations        = { "cert-manager.io/cluster-issuer" = "letsencrypt" }
  }

  # The drain of a node stops at most one pod at a time.
  pod_disruption_budget = { max_unavailable = 1 }
}
