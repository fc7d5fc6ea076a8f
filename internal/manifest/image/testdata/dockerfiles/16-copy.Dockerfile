FROM debian:12
COPY train.py /app/train.py
COPY a.txt b.txt /app/data/
COPY . relative
COPY ["with blank.txt", "/app/with blank.txt"]
ENV DEST=/srv
COPY folder $DEST/${SUB:-x}
