#!/usr/bin/env bash
# Measures plans and applies of many resources; see test/bench. Arguments select what is measured.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./test/bench "$@"
