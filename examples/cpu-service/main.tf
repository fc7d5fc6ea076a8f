# The smallest compute: half a CPU for functions that need no GPU.
resource "kt_compute" "preprocess" {
  name   = "preprocess"
  cpus   = "500m"
  memory = "1Gi"

  # Off the expensive nodes.
  gpu_anti_affinity = true

  # Kubetorch ends it when nobody has called it for two hours.
  inactivity_ttl = "2h"
}

output "url" {
  description = "Where the service is reached inside of the cluster."
  value       = kt_compute.preprocess.url
}
