data "kt_metrics" "tensors" {
  id         = kt_compute.tensors.id
  depends_on = [kt_compute.tensors]
}

output "gauges" {
  value = { for m in data.kt_metrics.tensors.metrics : m.name => m.value if m.type == "gauge" }
}
