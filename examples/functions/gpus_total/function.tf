locals {
  trainer = {
    name       = "trainer"
    gpus       = 8
    distribute = { type = "pytorch", workers = 2 }
  }
}

output "gpus" {
  value = provider::kt::gpus_total(local.trainer) # 16
}

resource "kt_compute" "server" {
  name     = "server"
  gpus     = 1
  replicas = 2

  lifecycle {
    postcondition {
      condition     = provider::kt::gpus_total(self) <= 4
      error_message = "The team has 4 GPUs."
    }
  }
}
