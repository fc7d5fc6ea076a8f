variable "min_throughput_mib_s" {
  description = "Minimum throughput of the pool for the rollout to start, in MiB per second."
  type        = number
  default     = 100
}

variable "round_trip_bytes" {
  description = "Size in bytes of the tensor that the probe sends to the pool and back."
  type        = number
  default     = 67108864
}

variable "via" {
  description = "Route of the probes: auto, direct or port_forward."
  type        = string
  default     = "auto"
}

# The tensor servers that the rollout depends on.
resource "kt_compute" "pool" {
  name    = "tensor-pool"
  runtime = "skytorch"
  cpus    = "2"
  memory  = "4Gi"
}
