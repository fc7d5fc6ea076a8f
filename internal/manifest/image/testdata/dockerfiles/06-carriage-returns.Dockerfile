FROM debian:12
RUN echo a \
  && echo b
ENV X=1
