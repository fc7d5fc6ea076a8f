FROM debian:12
RUN
RUN []
RUN [""]
RUN ["a", 1]
CMD
COPY
