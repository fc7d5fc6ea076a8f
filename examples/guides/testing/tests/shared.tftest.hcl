# The mocks of several tests are in one file, mocks/kt.tfmock.hcl. OpenTofu rejects this argument.
mock_provider "kt" {
  source = "./mocks"
}

variables {
  token = "not-a-real-token"
}

run "the_server_has_one_gpu" {
  assert {
    condition     = kt_compute.server.gpus == 1
    error_message = "The server must have one GPU."
  }

  assert {
    condition     = kt_compute.server.volumes[0].claim_name == "weights"
    error_message = "The server must mount the claim of the mock."
  }
}
