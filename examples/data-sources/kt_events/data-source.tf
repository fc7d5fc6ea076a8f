data "kt_events" "trainer" {
  name  = "trainer"
  type  = "Warning"
  limit = 10
}

output "warnings" {
  value = [for e in data.kt_events.trainer.events : "${e.time} ${e.kind} ${e.name}: ${e.message}"]
}
