FROM debian:12
ENV A=1 \
    B="x \
y" \
    # about C
    C=3
