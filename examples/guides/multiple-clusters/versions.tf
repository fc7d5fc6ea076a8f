terraform {
  required_providers {
    kt = {
      source = "ktdev/kt"
    }
  }
}
