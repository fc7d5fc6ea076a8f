mock_provider "kt" {
  mock_resource "kt_volume" {
    defaults = { # OpenTofu would generate a random text for each
      ref = { claim_name = "vision-shared", mount_path = "/shared", read_only = false }
    }
  }
}

mock_provider "kubernetes" {}

variables {
  team     = "vision"
  gpus     = 16
  gpu_type = "NVIDIA-H100-80GB-HBM3"
  storage  = "1Ti"
  trainers = { alice = 2 }
}

run "nothing_of_the_namespace_by_default" {
  command = plan

  assert {
    condition = sum([
      length(kubernetes_namespace_v1.team), length(kubernetes_resource_quota_v1.team),
      length(kubernetes_service_account_v1.trainers), length(kubernetes_role_v1.members),
      length(kubernetes_role_binding_v1.members),
    ]) == 0
    error_message = "By default, the namespace and its permissions must not be managed."
  }
}

run "everything_is_in_the_created_namespace" {
  command = plan

  variables {
    create_namespace = true
    namespace_labels = { "pod-security.kubernetes.io/enforce" = "baseline" }
    resource_quota   = { "requests.nvidia.com/gpu" = "16" }
    members          = [{ name = "alice" }]
  }

  assert {
    condition     = kubernetes_namespace_v1.team[0].metadata[0].name == "vision"
    error_message = "The namespace must have the name of the team."
  }

  assert {
    condition = kubernetes_namespace_v1.team[0].metadata[0].labels == tomap({
      team = "vision", "pod-security.kubernetes.io/enforce" = "baseline"
    })
    error_message = "The namespace must have the label of the team and those of the variable."
  }

  assert {
    condition = alltrue([
      for namespace in [
        kt_queue.pool.namespace, kt_volume.shared.namespace, kt_compute.trainer["alice"].namespace,
        kubernetes_resource_quota_v1.team[0].metadata[0].namespace,
        kubernetes_service_account_v1.trainers[0].metadata[0].namespace,
        kubernetes_role_v1.members[0].metadata[0].namespace, kubernetes_role_binding_v1.members[0].metadata[0].namespace,
      ] : namespace == "vision"
    ])
    error_message = "All objects must be in the created namespace."
  }

  assert {
    condition     = kubernetes_resource_quota_v1.team[0].spec[0].hard["requests.nvidia.com/gpu"] == "16"
    error_message = "The hard limits must be those of the variable."
  }

  assert {
    condition     = kubernetes_service_account_v1.trainers[0].metadata[0].name == "kubetorch-service-account"
    error_message = "The service account must be the default of kt_compute."
  }
}

run "an_existing_namespace_is_named" {
  command = plan

  variables {
    namespace              = "ml"
    create_service_account = true
    resource_quota         = { pods = "20" }
  }

  assert {
    condition     = length(kubernetes_namespace_v1.team) == 0 && kt_queue.pool.namespace == "ml"
    error_message = "An existing namespace must not be created."
  }

  assert {
    condition     = kubernetes_service_account_v1.trainers[0].metadata[0].namespace == "ml"
    error_message = "The service account must be in the existing namespace."
  }
}

run "members_are_subjects_of_the_role" {
  command = plan

  variables {
    create_namespace       = true
    create_service_account = false
    members = [
      { name = "alice" },
      { kind = "Group", name = "vision" },
      { kind = "ServiceAccount", name = "ci" },
      { kind = "ServiceAccount", name = "argo", namespace = "argo" },
    ]
  }

  assert {
    condition     = length(kubernetes_service_account_v1.trainers) == 0
    error_message = "The service account must be left out."
  }

  assert {
    condition = join(" ", [for subject in kubernetes_role_binding_v1.members[0].subject : "${subject.kind}/${subject.name}"]) == (
      "User/alice Group/vision ServiceAccount/ci ServiceAccount/argo"
    )
    error_message = "The subjects must be the members, in their order."
  }

  assert {
    condition = (
      kubernetes_role_binding_v1.members[0].subject[2].namespace == "vision" &&
      kubernetes_role_binding_v1.members[0].subject[3].namespace == "argo"
    )
    error_message = "The namespace of a service account must default to that of the pool."
  }

  assert {
    condition     = kubernetes_role_binding_v1.members[0].role_ref[0].name == "vision-members"
    error_message = "The binding must refer to the role of the members."
  }

  assert {
    condition     = length(kubernetes_role_v1.members[0].rule) > 0
    error_message = "The role of the members must have rules."
  }

  assert {
    condition     = alltrue([for rule in kubernetes_role_v1.members[0].rule : !contains(rule.resources, "secrets")])
    error_message = "By default, members must not read Secrets."
  }
}

run "a_quota_requires_a_namespace" {
  command = plan

  variables {
    resource_quota = { pods = "20" }
  }

  expect_failures = [var.resource_quota]
}

run "members_require_a_namespace" {
  command = plan

  variables {
    members = [{ name = "alice" }]
  }

  expect_failures = [var.members]
}

run "a_service_account_requires_a_namespace" {
  command = plan

  variables {
    create_service_account = true
  }

  expect_failures = [var.create_service_account]
}

run "kinds_of_members_are_checked" {
  command = plan

  variables {
    namespace = "ml"
    members   = [{ kind = "user", name = "alice" }]
  }

  expect_failures = [var.members]
}
