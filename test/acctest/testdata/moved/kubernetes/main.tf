terraform {
  required_providers {
    kubernetes = {
      source = "hashicorp/kubernetes"
    }
  }
}

variable "namespace" {
  type = string
}

resource "kubernetes_deployment" "web" {
  wait_for_rollout = false

  metadata {
    name      = "web"
    namespace = var.namespace
    labels    = { team = "shop" }
  }

  spec {
    replicas = 2
    selector {
      match_labels = { app = "web" }
    }
    template {
      metadata {
        labels = { app = "web" }
      }
      spec {
        container {
          name    = "kubetorch"
          image   = "registry.example.com/shop/web:1.4.2"
          command = ["/app/serve", "--port=8080"]
          port {
            name           = "http"
            container_port = 8080
          }
        }
      }
    }
  }
}

resource "kubernetes_stateful_set" "queue" {
  wait_for_rollout = false

  metadata {
    name      = "queue"
    namespace = var.namespace
  }

  spec {
    service_name = "queue"
    replicas     = 1
    selector {
      match_labels = { app = "queue" }
    }
    template {
      metadata {
        labels = { app = "queue" }
      }
      spec {
        container {
          name    = "kubetorch"
          image   = "registry.example.com/shop/queue:2.0.0"
          command = ["/app/queue"]
        }
      }
    }
  }
}

resource "kubernetes_daemonset" "cache" {
  metadata {
    name      = "cache"
    namespace = var.namespace
  }

  spec {
    selector {
      match_labels = { app = "cache" }
    }
    template {
      metadata {
        labels = { app = "cache" }
      }
      spec {
        container {
          name    = "kubetorch"
          image   = "registry.example.com/shop/cache:1.0.0"
          command = ["/app/cache"]
        }
      }
    }
  }
}

resource "kubernetes_job" "migrate" {
  wait_for_completion = false

  metadata {
    name      = "migrate"
    namespace = var.namespace
  }

  spec {
    ttl_seconds_after_finished = "3600" # the default deletes a completed Job
    template {
      metadata {}
      spec {
        restart_policy = "Never"
        container {
          name    = "kubetorch"
          image   = "registry.example.com/shop/migrate:1.0.0"
          command = ["/app/migrate"]
        }
      }
    }
  }
}

resource "kubernetes_persistent_volume_claim" "datasets" {
  wait_until_bound = false

  metadata {
    name      = "datasets"
    namespace = var.namespace
    labels    = { team = "shop" }
  }

  spec {
    access_modes = ["ReadWriteOnce"]
    resources {
      requests = { storage = "10Gi" }
    }
  }
}

resource "kubernetes_secret" "token" {
  metadata {
    name      = "token"
    namespace = var.namespace
  }

  data = { TOKEN = "not-a-real-token" }
}

resource "kubernetes_config_map" "settings" {
  metadata {
    name      = "settings"
    namespace = var.namespace
  }

  data = { color = "blue" }
}
