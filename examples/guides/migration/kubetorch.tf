import {
  to = kt_compute.legacy
  id = "ml/alice-train"
}

resource "kt_compute" "legacy" {
  name           = "alice-train"
  gpus           = 1
  adopt_existing = true # for the headless Service of .distribute(), which an import does not contain
}
