#!/usr/bin/env bash
# Parses every shell script of the repository, and runs shellcheck over them where it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts=(.ci/run scripts/*.sh)
for script in "${scripts[@]}"; do
	bash -n "$script"
done
if command -v shellcheck >/dev/null; then
	shellcheck "${scripts[@]}"
fi
