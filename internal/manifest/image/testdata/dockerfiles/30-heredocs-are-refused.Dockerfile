FROM debian:12
RUN <<EOF
apt-get update
NONSENSE
EOF
COPY <<-"END" /etc/x
	FROM nothing
	END
RUN cat <<A > /x && echo 3<<B
a
A
RUN echo after
