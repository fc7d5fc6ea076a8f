variable "least_mib_s" {
  description = "Throughput that the pool must have before anything is rolled out on it, in MiB a second."
  type        = number
  default     = 100
}

variable "round_trip_bytes" {
  description = "Size of the tensor that is sent there and back."
  type        = number
  default     = 67108864
}

variable "via" {
  description = "The way that the probes take: auto, direct or port_forward."
  type        = string
  default     = "auto"
}

# The tensor servers that the rollout needs.
resource "kt_compute" "pool" {
  name    = "tensor-pool"
  runtime = "skytorch"
  cpus    = "2"
  memory  = "4Gi"
}
