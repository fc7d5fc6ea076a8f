FROM golang:1.26 AS build
RUN go build
FROM debian:12
COPY --from=build /x /x
