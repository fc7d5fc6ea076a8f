# Warns in every plan and apply while the pool does not respond, without failing the run.
check "pool_serves" {
  data "kt_endpoint" "health" {
    id         = kt_compute.pool.id
    depends_on = [kt_compute.pool]
    probe      = { method = "health", via = var.via }
  }

  assert {
    condition     = data.kt_endpoint.health.status == "SERVING"
    error_message = "The tensor servers are ${data.kt_endpoint.health.status}: ${coalesce(data.kt_endpoint.health.detail, "no details")}"
  }
}
