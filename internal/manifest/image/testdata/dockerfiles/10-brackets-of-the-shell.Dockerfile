FROM debian:12
RUN [ -d /opt ] && echo yes
RUN [[ -f /x ]] || true
