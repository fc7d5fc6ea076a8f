data "kt_endpoint" "pool" {
  id         = kt_compute.pool.id
  depends_on = [kt_compute.pool] # read after the compute is ready

  probe = {
    method           = "tensor"
    round_trip_bytes = 67108864
    timeout          = "60s"
  }

  lifecycle {
    postcondition {
      condition     = self.status == "SERVING"
      error_message = "The pool is ${self.status}: ${coalesce(self.detail, "no details")}"
    }
  }
}
