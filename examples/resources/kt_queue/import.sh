terraform import kt_queue.nlp ml/nlp
