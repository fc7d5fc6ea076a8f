FROM debian:12
RUN ["apt-get", "install", "-y", "it's", "$HOME", "a\"b\\c", "ü"]
RUN ["bash", "-c", "echo hi"]
