terraform import kt_compute.trainer ml/trainer
