resource "kt_image" "speech" {
  name = "speech"

  dockerfile = <<-EOT
    FROM python:3.12-slim
    ENV PIP_NO_CACHE_DIR=1
    RUN apt-get update && \
        apt-get install -y ffmpeg
    COPY ${path.module}/app/ /app/
  EOT
}
