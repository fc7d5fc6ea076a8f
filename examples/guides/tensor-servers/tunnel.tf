ephemeral "kt_port_forward" "tensors" {
  id       = kt_compute.tensors.id
  uid      = kt_compute.tensors.uid # opens the tunnel after the compute has been created
  required = false                  # so that a suspended compute can be planned
}

resource "terraform_data" "load" {
  triggers_replace = [kt_compute.tensors.uid]

  provisioner "local-exec" {
    command     = "python load_weights.py"
    environment = { TENSOR_SERVER = ephemeral.kt_port_forward.tensors.address }
  }
}
