terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

# Cluster and namespace are set by the environment variables KUBE_CONFIG_PATH and KT_NAMESPACE.
provider "kt" {}
