# Names and labels only. Values are never read.
list "kt_secret" "all" {
  provider = kt

  config {
    all = true
  }
}
