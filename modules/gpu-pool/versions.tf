terraform {
  required_version = ">= 1.9"

  required_providers {
    kt = {
      source = "ktdev/kt"
    }
    kubernetes = {
      source = "hashicorp/kubernetes"
    }
  }
}
