# kt.Volume(name="scratch", size="50Gi", mount_path="/scratch")
resource "kt_volume" "scratch" {
  name        = "scratch"
  size        = "50Gi"
  mount_path  = "/scratch"
  access_mode = "ReadWriteOnce"
}

# A volume for several computes, which mount it at different paths.
resource "kt_volume" "shared" {
  name = "shared-data"
  size = "500Gi"
}

# kt.Secret.from_provider("aws")
resource "kt_secret" "aws" {
  name          = "aws"
  provider_name = "aws"
}

# kt.Secret.from_provider("huggingface")
resource "kt_secret" "huggingface" {
  name          = "huggingface"
  provider_name = "huggingface"
}

# kt.Compute(cpus="1", memory="4Gi", volumes=[...], secrets=[...])
resource "kt_compute" "etl" {
  name   = "etl"
  cpus   = "1"
  memory = "4Gi"

  volumes = [
    { claim_name = kt_volume.shared.name, mount_path = "/data" },
    kt_volume.scratch.ref,
  ]
  secrets = [kt_secret.aws.ref, kt_secret.huggingface.ref]
}
