resource "kt_compute" "kpu" {
  name    = "kpu"
  runtime = "kpu"

  env_vars = {
    LOG_FORMAT = "json"
  }
}
