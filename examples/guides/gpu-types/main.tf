provider "kt" {
  # With Karpenter on EKS, a gpu_type is the name of the GPU in the EC2 instance type.
  gpu_type_label = "karpenter.k8s.aws/instance-gpu-name"
}

resource "kt_compute" "trainer" {
  name     = "trainer"
  gpus     = 1
  gpu_type = "l4"
}
