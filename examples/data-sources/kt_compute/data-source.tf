data "kt_compute" "trainer" {
  name      = "trainer"
  namespace = "ml"
}

output "trainer_image" {
  value = data.kt_compute.trainer.image
}
