FROM debian:12
COPY a
COPY a b /c
COPY $SRC /c
COPY a ~/b
COPY ["a", 1]
COPY ["a"]
