resource "kt_image" "torch" {
  name       = "torch"
  base       = "pytorch:26.06-py3"
  pin_digest = true

  steps = [
    { run_bash = "apt-get update && apt-get install -y --no-install-recommends libsndfile1" },
    { set_env_vars = { HF_HOME = "/cache/huggingface", PATH = "$PATH:/app/bin" } },
    { pip_install = ["transformers==5.9.0", "datasets"] },
    { copy = { source = "${path.module}/app", dest = "/app" } },
  ]
}

resource "kt_compute" "trainer" {
  name      = "trainer"
  gpus      = 1
  image_ref = kt_image.torch.ref
}
