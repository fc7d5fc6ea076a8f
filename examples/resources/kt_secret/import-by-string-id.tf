import {
  to = kt_secret.huggingface
  id = "ml/huggingface"
}
