import {
  to = kt_compute.trainer
  id = "ml/trainer"
}
