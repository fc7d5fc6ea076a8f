# Sends a tensor to the pool and back, and compares every byte. Resources that
# depend on this data source are changed only if the probe succeeds.
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
      condition     = self.status == "SERVING" && coalesce(self.throughput_mib_s, 0) >= var.min_throughput_mib_s
      error_message = "The pool is ${self.status} and moves ${coalesce(self.throughput_mib_s, 0)} MiB a second; at least ${var.min_throughput_mib_s} are required. ${coalesce(self.detail, "The rollout was stopped.")}"
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
