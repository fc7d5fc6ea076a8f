FROM debian:12
RUN echo bom