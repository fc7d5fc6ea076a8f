# These values are stored in state. Use this only if everybody who can read the state may know them.
resource "kt_secret" "proxy" {
  name   = "proxy"
  values = { HTTPS_PROXY = "http://proxy.example.com:3128" }
}
