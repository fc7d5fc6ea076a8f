terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

# Without any attributes, the provider finds the cluster in the same way as kubectl.
provider "kt" {
  config_path    = "~/.kube/config"
  config_context = "gpu-cluster"
  namespace      = "ml"

  default_labels = {
    team = "ml-platform"
  }
}
