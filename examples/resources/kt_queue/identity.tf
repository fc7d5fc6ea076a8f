import {
  to = kt_queue.nlp
  identity = {
    namespace = "ml"
    name      = "nlp"
  }
}
