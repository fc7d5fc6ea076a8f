# The smallest compute: half a CPU, for functions that need no GPU.
resource "kt_compute" "preprocess" {
  name   = "preprocess"
  cpus   = "500m"
  memory = "1Gi"

  # Keep the pods off the expensive GPU nodes.
  gpu_anti_affinity = true

  # Kubetorch ends the compute after two hours without calls.
  inactivity_ttl = "2h"
}

output "url" {
  description = "URL of the service inside the cluster."
  value       = kt_compute.preprocess.url
}
