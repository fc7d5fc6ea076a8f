terraform import kt_secret.huggingface ml/huggingface
