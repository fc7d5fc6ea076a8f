terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

# Without any attribute, the provider finds the cluster as kubectl does.
provider "kt" {
  config_path    = "~/.kube/config"
  config_context = "gpu-cluster"
  namespace      = "ml"

  default_labels = {
    team = "ml-platform"
  }
}
