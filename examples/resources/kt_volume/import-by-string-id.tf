import {
  to = kt_volume.datasets
  id = "ml/datasets"
}
