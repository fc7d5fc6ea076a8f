FROM python:3.12-slim
RUN cat <<EOF > /x && python3 - <<-"PY"
FROM here
EOF
print("RUN")
	PY
EXPOSE 80
