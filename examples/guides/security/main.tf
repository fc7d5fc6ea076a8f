variable "license_key" {
  type      = string
  sensitive = true
  default   = "none"
}

resource "kt_compute" "server" {
  name        = "licensed-server"
  cpus        = 2
  memory      = "8Gi"
  image       = "registry.example.com/ml/server:1.0.0"
  command     = ["serve"]
  args        = ["--port", "8000", "--license", var.license_key]
  port        = 8000
  health_path = "/health"

  sensitive_fields = ["spec.template.spec.containers[0].args[3]"]
}
