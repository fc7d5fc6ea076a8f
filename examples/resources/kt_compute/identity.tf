import {
  to = kt_compute.trainer
  identity = {
    namespace = "ml"
    name      = "trainer"
  }
}
