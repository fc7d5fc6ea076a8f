import {
  to = kt_queue.nlp
  id = "ml/nlp"
}
