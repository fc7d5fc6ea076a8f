# The image
FROM debian:12
  # indented
RUN echo a # not a comment
RUN echo b \
# a comment between
    && echo c \

    && echo d
# the end
