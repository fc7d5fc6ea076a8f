# Objects that Kubetorch's Python client or kubectl created.
resource "kt_compute" "trainer" {
  name   = "trainer"
  cpus   = "1"
  memory = "2Gi"
}
