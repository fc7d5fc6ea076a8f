# A quota of 16 GPUs, and up to 4 more while other teams of the cohort do not use theirs.
resource "kt_queue" "nlp" {
  name   = "nlp"
  cohort = "research"

  flavors = [{
    name        = "h100"
    node_labels = { "nvidia.com/gpu.product" = "NVIDIA-H100-80GB-HBM3" } # creates the ResourceFlavor
    quotas = {
      "nvidia.com/gpu" = { nominal = "16", borrowing_limit = "4" }
      cpu              = { nominal = "256" }
      memory           = { nominal = "2Ti" }
    }
  }]

  preemption = {
    reclaim_within_cohort = "Any" # evicts workloads that borrow the team's quota
    within_cluster_queue  = "LowerPriority"
  }
}

# Another team with the same nodes. It lends at most 4 of its 8 GPUs.
resource "kt_queue" "speech" {
  name   = "speech"
  cohort = "research"

  flavors = [{
    name = kt_queue.nlp.flavors[0].name
    quotas = {
      "nvidia.com/gpu" = { nominal = "8", lending_limit = "4" }
      cpu              = { nominal = "128" }
      memory           = { nominal = "1Ti" }
    }
  }]

  preemption = {
    reclaim_within_cohort = "Any"
  }
}

resource "kt_compute" "trainer" {
  name       = "trainer"
  queue_name = kt_queue.nlp.name
  gpus       = 4
  gpu_type   = "NVIDIA-H100-80GB-HBM3"
  cpus       = 16
  memory     = "64Gi"
}
