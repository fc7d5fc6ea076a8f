# A tensor goes to the pool and comes back, bit for bit. What depends on this
# data source waits for it, and is left as it is where it fails.
data "kt_endpoint" "pool" {
  id         = kt_compute.pool.id
  depends_on = [kt_compute.pool]

  probe = {
    method           = "tensor"
    via              = var.via
    round_trip_bytes = var.round_trip_bytes
    timeout          = "60s"
  }

  lifecycle {
    postcondition {
      condition     = self.status == "SERVING" && coalesce(self.throughput_mib_s, 0) >= var.least_mib_s
      error_message = "The pool is ${self.status} and moves ${coalesce(self.throughput_mib_s, 0)} MiB a second, where ${var.least_mib_s} are needed. ${coalesce(self.detail, "Nothing is rolled out.")}"
    }
  }
}

resource "kt_compute" "frontend" {
  name = "tensor-frontend"
  cpus = "1"

  env_vars = {
    TENSOR_SERVER = data.kt_endpoint.pool.grpc_target
  }
}
