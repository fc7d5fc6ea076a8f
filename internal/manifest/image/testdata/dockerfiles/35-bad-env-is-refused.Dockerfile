FROM debian:12
ENV
ENV ONLY
ENV A=1 B
ENV A-B=1
ENV A="open
ENV A='open
ENV A=${B
ENV A=${B:?needed}
ENV A=${B##*/}
ENV A=$1
ENV A=${}
ENV =x
