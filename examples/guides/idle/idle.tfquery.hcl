# Computes without a ready pod: suspended, scaled to zero, waiting or failing.
list "kt_compute" "idle" {
  provider = kt
  limit    = 1000

  config {
    all_namespaces = true
    idle           = true
  }
}

# All volumes, also of other clients.
list "kt_volume" "all" {
  provider = kt
  limit    = 1000

  config {
    all_namespaces = true
  }
}
