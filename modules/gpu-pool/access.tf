resource "kubernetes_role_v1" "members" {
  count = length(var.members) > 0 ? 1 : 0

  metadata {
    name      = "${var.team}-members"
    namespace = local.namespace
    labels    = { team = var.team }
  }

  dynamic "rule" {
    for_each = var.member_rules

    content {
      api_groups = rule.value.api_groups
      resources  = rule.value.resources
      verbs      = rule.value.verbs
    }
  }
}

resource "kubernetes_role_binding_v1" "members" {
  count = length(var.members) > 0 ? 1 : 0

  metadata {
    name      = "${var.team}-members"
    namespace = local.namespace
    labels    = { team = var.team }
  }

  role_ref {
    api_group = "rbac.authorization.k8s.io"
    kind      = "Role"
    name      = kubernetes_role_v1.members[0].metadata[0].name
  }

  dynamic "subject" {
    for_each = var.members

    content {
      api_group = subject.value.kind == "ServiceAccount" ? null : "rbac.authorization.k8s.io"
      kind      = subject.value.kind
      name      = subject.value.name
      namespace = subject.value.kind == "ServiceAccount" ? coalesce(subject.value.namespace, local.namespace) : null
    }
  }
}
