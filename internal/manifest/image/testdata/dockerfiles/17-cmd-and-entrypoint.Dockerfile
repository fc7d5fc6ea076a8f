FROM debian:12
ENTRYPOINT ["python"]
CMD ["-m", "http.server"]
RUN echo still
CMD echo shell form
