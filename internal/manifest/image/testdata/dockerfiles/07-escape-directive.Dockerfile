# syntax=docker/dockerfile:1
# escape=`
FROM debian:12
RUN echo C:\ `
  done
ENV DIR="C:\x" Q=a`"b PRICE=`$5
