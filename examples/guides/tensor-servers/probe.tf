data "kt_endpoint" "probe" {
  id         = kt_compute.tensors.id
  depends_on = [kt_compute.tensors]

  probe = {
    method           = "tensor"
    round_trip_bytes = 67108864
    timeout          = "60s"
  }

  lifecycle {
    postcondition {
      condition     = self.status == "SERVING"
      error_message = "The server is ${self.status}: ${coalesce(self.detail, "no details")}"
    }
  }
}
