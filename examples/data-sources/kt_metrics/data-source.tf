data "kt_metrics" "pool" {
  id            = kt_compute.pool.id
  label_filters = { device = "cuda:0" }
  depends_on    = [kt_compute.pool]
}

output "pool_gauges" {
  value = { for m in data.kt_metrics.pool.metrics : m.name => { value = m.value, unit = m.unit } if m.type == "gauge" }
}
