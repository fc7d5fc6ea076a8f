resource "kt_compute" "trainer" {
  name    = "trainer"
  image   = "registry.example.com/trainer:1"
  command = ["/app/train"]
  port    = 8080
  cpus    = "1"

  health_path = "/health"

  lifecycle {
    action_trigger {
      events  = [before_update, before_destroy]
      actions = [action.kt_checkpoint.trainer]
    }
  }
}

# If the state cannot be saved, the compute is neither changed nor destroyed.
action "kt_checkpoint" "trainer" {
  config {
    id         = caller.id
    command    = ["/app/save", "--to", "/data/checkpoints"]
    timeout    = "10m"
    on_failure = "halt"
  }
}
