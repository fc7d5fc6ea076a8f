resource "kt_compute" "trainer" {
  name          = "trainer"
  manifest_only = true

  manifest = yamlencode({
    apiVersion = "batch/v1"
    kind       = "CronJob"
    spec = {
      schedule = "0 3 * * *"
      jobTemplate = {
        spec = {
          template = {
            spec = {
              restartPolicy = "Never"
              containers = [{
                name    = "evaluate"
                image   = "python:3.12"
                command = ["python", "-c", "print('evaluated')"]
              }]
            }
          }
        }
      }
    }
  })
}

# terraform apply -invoke=action.kt_trigger.trainer
action "kt_trigger" "trainer" {
  config {
    id = kt_compute.trainer.id
  }
}
