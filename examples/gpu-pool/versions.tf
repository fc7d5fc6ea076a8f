terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
    kubernetes = {
      source = "hashicorp/kubernetes"
    }
  }
}

# The cluster is set by the environment variable KUBE_CONFIG_PATH.
provider "kt" {}
provider "kubernetes" {}
