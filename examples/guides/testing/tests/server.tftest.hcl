mock_provider "kt" {
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
}

variables {
  token = "not-a-real-token"
}

run "the_server_gets_the_token_and_the_weights" {
  assert {
    condition     = kt_compute.server.secrets[0].name == "huggingface"
    error_message = "The server must have the token."
  }

  assert {
    condition     = kt_compute.server.volumes[0].mount_path == "/weights"
    error_message = "The weights must be mounted at /weights."
  }
}

run "a_node_has_at_most_8_gpus" {
  command = plan

  variables {
    gpus = 16
  }

  expect_failures = [var.gpus]
}
