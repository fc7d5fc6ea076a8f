# In state: for what is no secret to those who can read that.
resource "kt_secret" "proxy" {
  name   = "proxy"
  values = { HTTPS_PROXY = "http://proxy.example.com:3128" }
}
