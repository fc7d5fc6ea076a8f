# escape=/
FROM debian:12
