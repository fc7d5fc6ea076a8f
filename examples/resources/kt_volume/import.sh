terraform import kt_volume.datasets ml/datasets
