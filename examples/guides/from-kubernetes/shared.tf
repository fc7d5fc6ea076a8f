# A compute that takes over a Deployment named batch if there is one, and whose number of pods others set.
resource "kt_compute" "batch" {
  name           = "batch"
  cpus           = "1"
  replicas       = 1
  adopt_existing = true

  lifecycle {
    ignore_changes = [replicas]
  }
}
