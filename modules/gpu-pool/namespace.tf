locals {
  create_service_account = coalesce(var.create_service_account, var.create_namespace)

  # Of the namespace resource, so that everything else is created after the namespace, and deleted before it. If null,
  # the provider kt selects the namespace.
  namespace = var.create_namespace ? kubernetes_namespace_v1.team[0].metadata[0].name : var.namespace
}

resource "kubernetes_namespace_v1" "team" {
  count = var.create_namespace ? 1 : 0

  metadata {
    name   = coalesce(var.namespace, var.team)
    labels = merge({ team = var.team }, var.namespace_labels)
  }
}

resource "kubernetes_resource_quota_v1" "team" {
  count = length(var.resource_quota) > 0 ? 1 : 0

  metadata {
    name      = var.team
    namespace = local.namespace
    labels    = { team = var.team }
  }

  spec {
    hard = var.resource_quota
  }
}

resource "kubernetes_service_account_v1" "trainers" {
  count = local.create_service_account ? 1 : 0

  metadata {
    name      = "kubetorch-service-account" # the default of kt_compute
    namespace = local.namespace
    labels    = { team = var.team }
  }
}
