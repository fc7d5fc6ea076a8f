locals {
  # Like gpu_type of a compute: "key: value" is another label than NVIDIA's.
  gpu_type  = strcontains(var.gpu_type, ":") ? var.gpu_type : "nvidia.com/gpu.product:${var.gpu_type}"
  gpu_label = [for part in split(":", local.gpu_type) : trimspace(part)]
}

resource "kt_queue" "pool" {
  name                = var.team
  namespace           = local.namespace
  cohort              = var.cohort
  deletion_protection = var.deletion_protection

  flavors = [{
    name        = coalesce(var.flavor, var.team)
    node_labels = var.flavor == null ? { (local.gpu_label[0]) = local.gpu_label[1] } : null
    quotas = {
      "nvidia.com/gpu" = {
        nominal         = tostring(var.gpus)
        borrowing_limit = var.borrowing_limit == null ? null : tostring(var.borrowing_limit)
        lending_limit   = var.lending_limit == null ? null : tostring(var.lending_limit)
      }
      # Without limits: a workload that borrows GPUs also borrows their CPUs and memory.
      cpu    = { nominal = tostring(var.gpus * var.cpus_per_gpu) }
      memory = { nominal = "${var.gpus * var.memory_per_gpu}Gi" }
    }
  }]

  preemption = var.cohort == null ? null : {
    reclaim_within_cohort = "Any" # otherwise, lent GPUs return only when their workloads finish
  }
}
