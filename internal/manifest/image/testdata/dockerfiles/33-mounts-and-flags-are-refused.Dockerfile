FROM --platform=linux/arm64 debian:12
RUN --mount=type=cache,target=/root/.cache pip install x
RUN --network=none echo x
COPY --chown=1000:1000 --chmod=755 a /a
COPY --link a /a
