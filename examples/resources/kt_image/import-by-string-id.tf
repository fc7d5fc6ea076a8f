import {
  to = kt_image.torch
  id = "ml/torch"
}
