FROM debian:12
RUN echo a \
