#!/usr/bin/env bash
# Fails on tracked files that are binary or larger than 512 KiB: build output belongs in bin/, which git ignores.
set -euo pipefail
cd "$(dirname "$0")/.."

max=$((512 * 1024))
allowed() { # binary files that belong in the repository
	case $1 in
	proto/image.binpb | internal/tensor/torchfile/testdata/*.pt) ;;
	*) return 1 ;;
	esac
}

failed=0
files=0 sizes=0
report() {
	echo "$1: $2" >&2
	failed=1
}

# Git tells text from binary by content: "i/-text" is a binary file in the index.
while IFS=$'\t' read -r -d '' info file; do
	files=$((files + 1))
	if [[ $info == i/-text* ]] && ! allowed "$file"; then
		report "$file" 'binary file. Remove it with "git rm --cached", or add it to scripts/lint-files.sh.'
	fi
done < <(git ls-files -z --eol)

while IFS=$'\t' read -r info file; do
	sizes=$((sizes + 1))
	size=${info%% *}
	if [[ $size =~ ^[0-9]+$ ]] && ((size > max)); then
		report "$file" "$size bytes, more than $max. Remove it with \"git rm --cached\"."
	fi
done < <(git ls-files --stage | cut -d ' ' -f 2- | git cat-file --batch-check='%(objectsize) %(rest)')

# A failure of git in the loops above is only seen here.
if ((files == 0 || sizes < files)); then
	report "git" "it lists $files files, and the sizes of $sizes."
fi
exit "$failed"
