FROM scratch
FROM a b c d
FROM
