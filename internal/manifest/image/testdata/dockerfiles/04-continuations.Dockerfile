FROM debian:12
RUN apt-get update \
    && apt-get install -y \
       git \   
       curl

RUN echo after
