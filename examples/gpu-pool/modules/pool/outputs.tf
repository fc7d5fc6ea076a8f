output "urls" {
  description = "Where each trainer is reached inside of the cluster."
  value       = { for name, trainer in kt_compute.trainer : name => trainer.url }
}

output "volume" {
  description = "ID of the volume that all trainers share, as namespace/name."
  value       = kt_volume.shared.id
}
