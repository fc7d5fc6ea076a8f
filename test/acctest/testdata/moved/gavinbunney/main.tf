terraform {
  required_providers {
    kubectl = {
      source = "gavinbunney/kubectl"
    }
  }
}

variable "namespace" {
  type = string
}

resource "kubectl_manifest" "web" {
  wait_for_rollout = false

  yaml_body = <<-YAML
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      namespace: ${var.namespace}
    spec:
      replicas: 2
      selector:
        matchLabels: {app: web}
      template:
        metadata:
          labels: {app: web}
        spec:
          containers:
          - name: kubetorch
            image: registry.example.com/shop/web:1.4.2
            command: [/app/serve, --port=8080]
            ports:
            - name: http
              containerPort: 8080
  YAML
}

# The namespace is not in the manifest.
resource "kubectl_manifest" "datasets" {
  override_namespace = var.namespace

  yaml_body = <<-YAML
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata:
      name: datasets
    spec:
      accessModes: [ReadWriteOnce]
      resources:
        requests:
          storage: 10Gi
  YAML
}

resource "kubectl_manifest" "token" {
  yaml_body = <<-YAML
    apiVersion: v1
    kind: Secret
    metadata:
      name: token
      namespace: ${var.namespace}
    stringData:
      TOKEN: not-a-real-token
  YAML
}

resource "kubectl_manifest" "role" {
  yaml_body = <<-YAML
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata:
      name: kt-moved-role
  YAML
}
