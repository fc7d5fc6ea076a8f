list "kt_volume" "unmanaged" {
  provider         = kt
  include_resource = true

  config {
    managed = false
  }
}
