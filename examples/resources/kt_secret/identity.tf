import {
  to = kt_secret.huggingface
  identity = {
    namespace = "ml"
    name      = "huggingface"
  }
}
