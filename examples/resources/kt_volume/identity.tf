import {
  to = kt_volume.datasets
  identity = {
    namespace = "ml"
    name      = "datasets"
  }
}
