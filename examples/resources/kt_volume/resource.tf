resource "kt_volume" "datasets" {
  name       = "datasets"
  size       = "500Gi"
  mount_path = "/datasets"

  deletion_protection = true
}

resource "kt_compute" "trainer" {
  name    = "trainer"
  gpus    = 1
  volumes = [kt_volume.datasets.ref]
}
