#!/usr/bin/env bash
# Measures plans without changes with 10, 100 and 1,000 computes; see internal/bench.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go run ./internal/bench "$@"
