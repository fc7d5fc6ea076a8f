# Mocks replace the providers, so no cluster is needed. The acceptance tests apply examples/gpu-pool in a cluster with
# Kueue.
mock_provider "kt" {
  mock_resource "kt_secret" {
    defaults = {
      ref = { name = "vision-tokens", env_vars = ["TOKEN"], mount_path = null, default_mode = null }
    }
  }

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
}

run "quotas_follow_the_gpus" {
  command = plan

  assert {
    condition     = kt_queue.pool.flavors[0].quotas["nvidia.com/gpu"].nominal == "16"
    error_message = "The GPU quota must be var.gpus."
  }

  assert {
    condition     = kt_queue.pool.flavors[0].quotas["cpu"].nominal == "128"
    error_message = "The CPU quota must be 8 for each GPU."
  }

  assert {
    condition     = kt_queue.pool.flavors[0].quotas["memory"].nominal == "1024Gi"
    error_message = "The memory quota must be 64 GiB for each GPU."
  }

  assert {
    condition     = kt_queue.pool.flavors[0].node_labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    error_message = "The flavor must select the nodes of the GPU type."
  }

  assert {
    condition     = kt_queue.pool.preemption == null && length(kt_secret.tokens) == 0
    error_message = "Without a cohort and tokens, there must be neither preemption nor a Secret."
  }
}

run "another_label_selects_the_nodes" {
  command = plan

  variables {
    gpu_type = "cloud.google.com/gke-accelerator: nvidia-l4"
  }

  assert {
    condition     = kt_queue.pool.flavors[0].node_labels == tomap({ "cloud.google.com/gke-accelerator" = "nvidia-l4" })
    error_message = "The flavor must select the nodes by the label in gpu_type."
  }
}

run "trainers_select_the_nodes_of_the_flavor" {
  command = plan

  variables {
    trainers = { alice = 2 }
  }

  assert {
    condition     = kt_compute.trainer["alice"].gpu_type == "nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3"
    error_message = "The trainer must name the label of the flavor, since gpu_type_label may name another one."
  }
}

run "trainers_select_the_nodes_by_another_label" {
  command = plan

  variables {
    gpu_type = "cloud.google.com/gke-accelerator:nvidia-l4"
    trainers = { alice = 2 }
  }

  assert {
    condition     = kt_compute.trainer["alice"].gpu_type == "cloud.google.com/gke-accelerator: nvidia-l4"
    error_message = "The trainer must select the nodes by the label in gpu_type."
  }
}

run "trainers_are_suspended" {
  command = plan

  variables {
    trainers       = { alice = 2 }
    suspend        = true
    inactivity_ttl = "4h"
    on_expiry      = "keep_suspended"
  }

  assert {
    condition     = kt_compute.trainer["alice"].suspend && kt_compute.trainer["alice"].on_expiry == "keep_suspended"
    error_message = "The trainer must have suspend and on_expiry of the pool."
  }
}

run "other_computes_use_the_volume_and_the_tokens" {
  command = apply

  variables {
    trainers = { alice = 2 }
    tokens   = { TOKEN = "POOL_TOKEN" }
  }

  assert {
    condition = (output.volume_ref.mount_path == "/shared" && length(output.secret_refs) == 1 &&
    output.computes["alice"] == kt_compute.trainer["alice"].id)
    error_message = "The outputs must contain references, and the IDs of the trainers."
  }
}

run "limits_apply_to_gpus_only" {
  command = plan

  variables {
    cohort          = "research"
    borrowing_limit = 8
    lending_limit   = 4
  }

  assert {
    condition     = kt_queue.pool.flavors[0].quotas["nvidia.com/gpu"].borrowing_limit == "8"
    error_message = "The borrowing limit must be that of the variable."
  }

  assert {
    condition     = kt_queue.pool.flavors[0].quotas["cpu"].borrowing_limit == null
    error_message = "The CPU quota must have no borrowing limit."
  }

  assert {
    condition     = kt_queue.pool.preemption.reclaim_within_cohort == "Any"
    error_message = "Lent GPUs must be reclaimed."
  }
}

run "trainers_request_their_share" {
  command = plan

  variables {
    trainers = { alice = 2 }
  }

  assert {
    condition     = kt_compute.trainer["alice"].gpus == 2 && kt_compute.trainer["alice"].memory == "128Gi"
    error_message = "The requests of a trainer must follow its GPUs."
  }

  assert {
    condition     = kt_compute.trainer["alice"].queue_name == "vision"
    error_message = "The trainer must be in the queue of its team."
  }
}

run "trainers_get_the_settings_of_the_pool" {
  command = plan

  variables {
    trainers       = { alice = 2 }
    inactivity_ttl = "4h"
    env_vars       = { NCCL_DEBUG = "WARN" }
    tolerations    = [{ key = "team", value = "vision", effect = "NoSchedule" }]
  }

  assert {
    condition     = kt_compute.trainer["alice"].inactivity_ttl == "4h"
    error_message = "The trainer must be deleted after the duration of the pool."
  }

  assert {
    condition     = kt_compute.trainer["alice"].env_vars == tomap({ NCCL_DEBUG = "WARN" })
    error_message = "The trainer must have the variables of the pool."
  }

  assert {
    condition     = kt_compute.trainer["alice"].tolerations[0].value == "vision"
    error_message = "The trainer must have the tolerations of the pool."
  }
}

run "another_pool_names_the_flavor" {
  command = plan

  variables {
    flavor = "h100"
  }

  assert {
    condition     = kt_queue.pool.flavors[0].name == "h100" && kt_queue.pool.flavors[0].node_labels == null
    error_message = "A pool with an existing flavor must not create one."
  }
}

run "limits_require_a_cohort" {
  command = plan

  variables {
    borrowing_limit = 8
  }

  expect_failures = [var.borrowing_limit]
}

run "gpus_are_integers" {
  command = plan

  variables {
    gpus = 1.5
  }

  expect_failures = [var.gpus]
}

run "tokens_are_no_other_variables_of_the_machine" {
  command = plan

  variables {
    tokens = { TOKEN = "KUBE_TOKEN" }
  }

  expect_failures = [var.tokens]
}
