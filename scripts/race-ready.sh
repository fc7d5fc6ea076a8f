#!/usr/bin/env bash
# Says early and clearly when `go test -race` cannot work: it needs cgo, and so a C compiler.
# usage: race-ready.sh [-race]
set -euo pipefail

[ "${1:-}" = -race ] || exit 0

read -r compiler _ <<<"$(go env CC)"
if [ "$(go env CGO_ENABLED)" = 1 ] && command -v "$compiler" >/dev/null; then
	exit 0
fi
cat >&2 <<EOF
The tests run with the race detector, which needs a C compiler; '$compiler' was not found, or CGO_ENABLED=0 is set.
Install one (Debian: apt-get install gcc libc6-dev), or test without the detector: make test RACE=
EOF
exit 1
