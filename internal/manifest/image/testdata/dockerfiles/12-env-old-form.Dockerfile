FROM debian:12
ENV GREETING hello   big world
ENV QUOTED "with quotes"
ENV WITH_EQUALS a=b
ENV	TAB	x
