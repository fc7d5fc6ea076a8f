ephemeral "kt_port_forward" "trainer" {
  id  = kt_compute.trainer.id
  uid = kt_compute.trainer.uid # opens the tunnel after the compute has been created
}

# A provisioner uses the tunnel. Other providers can do the same.
resource "terraform_data" "warm_up" {
  triggers_replace = [kt_compute.trainer.uid]

  provisioner "local-exec" {
    command     = "curl --fail --silent --show-error \"$URL/health\""
    environment = { URL = ephemeral.kt_port_forward.trainer.url }
  }
}
