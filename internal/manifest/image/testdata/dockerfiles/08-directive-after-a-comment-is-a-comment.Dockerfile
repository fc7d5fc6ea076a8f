# A comment
# escape=`
FROM debian:12
RUN echo a \
  b
