# Environment variables of the machine that runs Terraform, such as a CI job.
resource "kt_secret" "ci" {
  name = "ci"
  from_env = {
    AWS_ACCESS_KEY_ID     = "CI_AWS_KEY_ID"
    AWS_SECRET_ACCESS_KEY = "CI_AWS_SECRET"
  }
}
