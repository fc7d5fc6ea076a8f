RUN echo early
FROM debian:12
