RUN echo one
