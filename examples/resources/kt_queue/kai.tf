# A queue of the KAI scheduler for a department, and one for a team of it. A kt_compute of the team has
# queue_name = kt_queue.vision.name and queue_scheduler = "kai".
resource "kt_queue" "research" {
  name = "research"

  kai = {
    gpu    = { quota = 16, limit = -1, over_quota_weight = 1 }
    cpu    = { quota = 512, limit = -1, over_quota_weight = 1 }
    memory = { quota = "4Ti", limit = -1, over_quota_weight = 1 }
  }
}

resource "kt_queue" "vision" {
  name = "vision"

  kai = {
    parent_queue        = kt_queue.research.name
    reclaim_min_runtime = "30m" # before another queue gets the resources back that exceed the quota

    gpu    = { quota = 8, limit = 12, over_quota_weight = 2 }
    cpu    = { quota = 256, limit = -1 }
    memory = { quota = "2Ti", limit = -1 }
  }
}
