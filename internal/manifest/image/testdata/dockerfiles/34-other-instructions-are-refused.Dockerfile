FROM debian:12
ADD https://example.com/x /x
WORKDIR /app
USER nobody
SHELL ["/bin/bash", "-c"]
EXPOSE 80
VOLUME /data
LABEL a=b
MAINTAINER somebody
HEALTHCHECK CMD true
STOPSIGNAL SIGTERM
ONBUILD RUN echo
INSTALL torch
