mock_resource "kt_secret" {
  defaults = {
    ref = { name = "huggingface", env_vars = ["HF_TOKEN"], mount_path = null, default_mode = null }
  }
}

mock_resource "kt_image" {
  defaults = {
    ref = {
      image = "python:3.12"
      setup = { config_map = "server", digest = "sha256:5f3a", python_path = null, install_cmd = null }
    }
  }
}

mock_resource "kt_volume" {
  defaults = {
    ref = { claim_name = "weights", mount_path = "/weights", read_only = null }
  }
}
