terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}

# The cluster and the namespace come from the environment: KUBE_CONFIG_PATH and KT_NAMESPACE.
provider "kt" {}
