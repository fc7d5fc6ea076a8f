resource "kt_volume" "shared" {
  name                = "${var.team}-shared"
  namespace           = local.namespace
  size                = var.storage
  mount_path          = "/shared"
  storage_class       = var.storage_class
  deletion_protection = var.deletion_protection
}

resource "kt_secret" "tokens" {
  count = length(var.tokens) > 0 ? 1 : 0

  name      = "${var.team}-tokens"
  namespace = local.namespace
  from_env  = var.tokens
}

resource "kt_compute" "trainer" {
  for_each = var.trainers

  name                = "${var.team}-${each.key}"
  namespace           = local.namespace
  queue_name          = kt_queue.pool.name
  cpus                = var.cpus_per_gpu * each.value
  memory              = "${var.memory_per_gpu * each.value}Gi"
  gpus                = each.value
  gpu_type            = join(": ", local.gpu_label) # with the key, as the label of the provider may be another one
  shared_memory_limit = "16Gi"
  image               = var.image
  volumes             = [kt_volume.shared.ref]
  secrets             = kt_secret.tokens[*].ref
  inactivity_ttl      = var.inactivity_ttl
  on_expiry           = var.inactivity_ttl == null ? null : var.on_expiry
  suspend             = var.suspend
  env_vars            = var.env_vars
  tolerations         = length(var.tolerations) > 0 ? var.tolerations : null

  labels = {
    team  = var.team
    owner = each.key
  }

  depends_on = [kubernetes_resource_quota_v1.team, kubernetes_service_account_v1.trainers]
}
