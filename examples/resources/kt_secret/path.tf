# Two files of a directory, mounted at /root/.config/team.
resource "kt_secret" "team" {
  name      = "team"
  path      = "~/.config/team"
  filenames = ["client.pem", "client.key"]
}
