#!/usr/bin/env bash
# Generates the registry documentation from the provider's schema, templates/ and examples/.
# usage: docs.sh DIR       write the documentation to DIR
#        docs.sh --check   fail if docs/ is out of date, or does not follow the rules of the registry
#
# The CLI in KT_CLI reads the schema from bin/terraform-provider-kt, offline and through a development override.
# tfplugindocs can run Terraform itself, but not OpenTofu, and would build the provider again.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# write_schema FILE: writes the provider's schema, under the short name that tfplugindocs expects.
write_schema() {
	cat >"$work/cli.tfrc" <<-EOF
		provider_installation {
		  dev_overrides { "ktdev/kt" = "$KT_PROVIDER_DIR" }
		  direct {}
		}
	EOF
	mkdir "$work/config"
	cat >"$work/config/main.tf" <<-EOF
		terraform {
		  required_providers {
		    kt = { source = "ktdev/kt" }
		  }
		}
	EOF
	TF_CLI_CONFIG_FILE="$work/cli.tfrc" "$KT_CLI" -chdir="$work/config" providers schema -json |
		sed 's#"registry\.[a-z]*\.[a-z]*/ktdev/kt"#"kt"#' >"$1"
}

# generate DIR: generates the documentation; tfplugindocs requires DIR relative to the repository.
generate() {
	bin/tfplugindocs generate --provider-name kt \
		--providers-schema "$work/schema.json" --rendered-website-dir "$1"
}

write_schema "$work/schema.json"
if [ "$1" != --check ]; then
	generate "$1"
	exit
fi

rm -rf .cache/docs
generate .cache/docs
if ! diff -ru --exclude adr docs .cache/docs; then
	echo "docs/ is out of date: run 'make docs' and commit the result." >&2
	exit 1
fi
if ! report=$(bin/tfplugindocs validate --provider-name kt --providers-schema "$work/schema.json" 2>&1); then
	echo "docs/ does not follow the rules of the registry:" >&2
	grep -v DEBUG <<<"$report" >&2
	exit 1
fi
