ephemeral "kt_port_forward" "trainer" {
  name = kt_compute.trainer.name
  uid  = kt_compute.trainer.uid # opened when the compute is there
}

# Another provider, or a provisioner, calls through the tunnel.
resource "terraform_data" "warm_up" {
  triggers_replace = [kt_compute.trainer.uid]

  provisioner "local-exec" {
    command     = "curl --fail --silent --show-error \"$URL/health\""
    environment = { URL = ephemeral.kt_port_forward.trainer.url }
  }
}
