#!/usr/bin/env bash
# Checks that the release in a directory has what the Terraform and OpenTofu registries require: archives with only the
# binary, if unzip is installed, and the checksums of them and of the manifest.
# usage: check-release.sh DIR
set -euo pipefail
cd "$1"

fail() {
	echo "$1" >&2
	exit 1
}

shopt -s nullglob
archives=(terraform-provider-kt_*.zip)
sums=(terraform-provider-kt_*_SHA256SUMS)
[ ${#archives[@]} -gt 0 ] || fail "no archives in $1"
[ ${#sums[@]} -eq 1 ] || fail "${#sums[@]} files of checksums in $1"
version=${sums[0]#terraform-provider-kt_}
version=${version%_SHA256SUMS}
for file in "${archives[@]}" "terraform-provider-kt_${version}_manifest.json"; do
	grep -q "  $file\$" "${sums[0]}" || fail "${sums[0]} has no checksum of $file"
done
sha256sum --check --quiet --ignore-missing "${sums[0]}"
command -v unzip >/dev/null || exit 0
for archive in "${archives[@]}"; do
	content=$(unzip -Z1 "$archive")
	case $content in
	"terraform-provider-kt_v$version" | "terraform-provider-kt_v$version.exe") ;;
	*) fail "$archive contains: $content" ;;
	esac
done
