list "kt_image" "all" {
  provider = kt

  config {
    all_namespaces = true
  }
}
