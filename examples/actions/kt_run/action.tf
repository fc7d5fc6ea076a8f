resource "kt_compute" "trainer" {
  name    = "trainer"
  image   = "registry.example.com/trainer:1"
  command = ["/app/train"]
  port    = 8080
  cpus    = "1"

  health_path = "/health"
}

# In a running pod: terraform apply -invoke=action.kt_run.disk_usage
action "kt_run" "disk_usage" {
  config {
    id      = kt_compute.trainer.id
    command = ["df", "-h", "/data"]
  }
}

# In all pods, five at a time. A shell expands the variable.
action "kt_run" "clear_cache" {
  config {
    id          = kt_compute.trainer.id
    command     = ["sh", "-c", "rm -rf \"$CACHE_DIR\"/*"]
    pods        = "all"
    parallelism = 5
  }
}

# In a new pod with the image, the secrets and the volumes of the compute, which is deleted at the end.
action "kt_run" "migrate" {
  config {
    id      = kt_compute.trainer.id
    command = ["/app/migrate", "--to", "latest"]
    timeout = "1h"

    job = {
      env_vars = { LOG_LEVEL = "debug" }
    }
  }
}
