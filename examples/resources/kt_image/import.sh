terraform import kt_image.torch ml/torch
