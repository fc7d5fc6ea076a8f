FROM debian:12
RUN set -e; for i in 1 2 3; do echo "$i"; done | tee /tmp/x; echo `date` $((1<<4)) '!"§$%&/'
RUN cat <<< "here string"
