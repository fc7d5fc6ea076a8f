# The token that `huggingface-cli login` stored, or the variable HF_TOKEN.
resource "kt_secret" "huggingface" {
  name          = "huggingface"
  provider_name = "huggingface"
}

resource "kt_compute" "trainer" {
  name    = "trainer"
  secrets = [kt_secret.huggingface.ref]
}
