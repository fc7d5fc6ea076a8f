data "kt_image_digest" "pytorch" {
  image = "nvcr.io/nvidia/pytorch:26.06-py3"
}

# A moved tag shows in the plan as another image.
resource "kt_compute" "trainer" {
  name  = "trainer"
  image = data.kt_image_digest.pytorch.pinned_image
  gpus  = 1
}
