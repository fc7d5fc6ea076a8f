resource "kt_compute" "trainer" {
  name     = "trainer"
  cpus     = "1"
  replicas = 2
}

# terraform apply -invoke=action.kt_suspend.trainer
action "kt_suspend" "trainer" {
  config {
    id = kt_compute.trainer.id
  }
}

# terraform apply -invoke=action.kt_resume.trainer
action "kt_resume" "trainer" {
  config {
    id = kt_compute.trainer.id
  }
}
