list "kt_compute" "fleet" {
  provider         = kt
  include_resource = true
  limit            = 1000

  config {
    managed = false
  }
}

list "kt_volume" "fleet" {
  provider         = kt
  include_resource = true
  limit            = 1000

  config {
    managed = false
  }
}
