terraform {
  required_version = ">= 1.9"

  required_providers {
    kt = {
      source  = "ktdev/kt"
      version = ">= 0.1.0"
    }
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = ">= 2.7"
    }
  }
}
