import {
  to = kt_volume.datasets
  id = "ml/datasets"
}

resource "kt_volume" "datasets" {
  name       = "datasets"
  size       = "500Gi"
  mount_path = "/datasets"
}

import {
  to = kt_secret.huggingface
  id = "ml/huggingface"
}

resource "kt_secret" "huggingface" {
  name          = "huggingface"
  provider_name = "huggingface"
}
