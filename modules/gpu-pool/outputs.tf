output "urls" {
  description = "URL of each trainer inside the cluster."
  value       = { for name, trainer in kt_compute.trainer : name => trainer.url }
}

output "namespace" {
  description = "Namespace of the pool."
  value       = kt_queue.pool.namespace
}

output "volume" {
  description = "ID of the volume that all trainers share, as namespace/name."
  value       = kt_volume.shared.id
}

output "volume_ref" {
  description = "Volume that all trainers share, for volumes of other computes in the same namespace."
  value       = kt_volume.shared.ref
}

output "secret_refs" {
  description = "Secrets of the tokens, for secrets of other computes in the same namespace."
  value       = kt_secret.tokens[*].ref
}

output "computes" {
  description = "ID of each trainer, for actions."
  value       = { for name, trainer in kt_compute.trainer : name => trainer.id }
}

output "queue_name" {
  description = "Queue of the team, for other computes in the same namespace."
  value       = kt_queue.pool.name
}

output "flavor" {
  description = "ResourceFlavor of the pool, for the pools of other teams on the same nodes."
  value       = kt_queue.pool.flavors[0].name
}
