#!/usr/bin/env bash
# Parses every shell script of the repository, and checks it with shellcheck if that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts=(.ci/run scripts/*.sh)
for script in "${scripts[@]}"; do
	bash -n "$script"
done
if command -v shellcheck >/dev/null; then
	shellcheck "${scripts[@]}"
fi
