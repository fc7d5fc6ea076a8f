# Several pods of NVIDIA Triton on different nodes. An update replaces one after the other.
resource "kt_compute" "triton" {
  name     = "triton"
  cpus     = 4
  memory   = "16Gi"
  gpus     = 1
  replicas = 2

  service_account_name = "default"

  image       = "nvcr.io/nvidia/tritonserver:26.06-py3"
  command     = ["tritonserver", "--model-repository=/models"]
  port        = 8000
  health_path = "/v2/health/ready"

  topology_spread_constraints = [{ topology_key = "kubernetes.io/hostname", when_unsatisfiable = "ScheduleAnyway" }]
}
