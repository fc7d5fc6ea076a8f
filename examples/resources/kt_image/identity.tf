import {
  to = kt_image.torch
  identity = {
    namespace = "ml"
    name      = "torch"
  }
}
