resource "kt_compute" "trainer" {
  name    = "trainer"
  image   = "registry.example.com/trainer:1"
  command = ["/app/train"]
  port    = 8080
  cpus    = "1"

  health_path = "/health"

  # The log of the first minute of each new version is part of the output of the apply.
  lifecycle {
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.kt_logs.start]
    }
  }
}

action "kt_logs" "start" {
  config {
    name     = "trainer"
    duration = "1m"
  }
}

# The last lines before the last crash: terraform apply -invoke=action.kt_logs.crash
action "kt_logs" "crash" {
  config {
    name       = "trainer"
    previous   = true
    tail_lines = 50
  }
}
