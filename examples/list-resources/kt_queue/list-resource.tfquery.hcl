list "kt_queue" "unmanaged" {
  provider = kt

  config {
    managed = false
  }
}
