# compute.is_up(), compute.replicas, compute.deployment_mode
data "kt_compute" "trainer" {
  id         = kt_compute.trainer.id
  depends_on = [kt_compute.trainer]
}

# compute.endpoint, compute.pods(), compute.client_port()
data "kt_endpoint" "trainer" {
  id         = kt_compute.trainer.id
  depends_on = [kt_compute.trainer]
}

# Events of the compute and its pods
data "kt_events" "trainer" {
  id         = kt_compute.trainer.id
  type       = "Warning"
  depends_on = [kt_compute.trainer]
}

output "trainer" {
  description = "URL of the trainer inside the cluster, and whether it is ready."
  value = {
    url   = data.kt_endpoint.trainer.url
    ready = data.kt_compute.trainer.ready
  }
}
