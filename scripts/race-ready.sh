#!/usr/bin/env bash
# Fails early, with instructions, if `go test -race` cannot work: it needs cgo, and therefore a C compiler.
# usage: race-ready.sh [-race]
set -euo pipefail

[ "${1:-}" = -race ] || exit 0

read -r compiler _ <<<"$(go env CC)"
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$compiler" >/dev/null; then
	exit 0
fi
cat >&2 <<EOF
The race detector needs a C compiler, but '$compiler' was not found or CGO_ENABLED=0 is set.
Install one (Debian: apt-get install gcc libc6-dev), or run the tests without the race detector: make test RACE=
EOF
exit 1
