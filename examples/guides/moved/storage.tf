moved {
  from = kubernetes_persistent_volume_claim.datasets
  to   = kt_volume.datasets
}

resource "kt_volume" "datasets" {
  name        = "datasets"
  size        = "10Gi"
  access_mode = "ReadWriteOnce"
  labels      = { team = "shop" }
}

moved {
  from = kubernetes_secret.token
  to   = kt_secret.token
}

resource "kt_secret" "token" {
  name     = "token"
  from_env = { TOKEN = "TOKEN" }
}
