#!/usr/bin/env bash
# What a contributor runs before a push: every test that can see the change, the concurrent packages
# among them with the race detector, and the written mutations of the changed files and tests.
#
#   scripts/affected.sh BASE     BASE is the commit that the change starts from
set -euo pipefail
cd "$(dirname "$0")/.."
base=$1

packages=$(go run ./tools/affected -since "$base")
[ -n "$packages" ] || { echo "no test can see the change since $base"; exit 0; }
plain=$(grep -vxFf <(make -s concurrent) <<<"$packages" || true)
concurrent=$(grep -xFf <(make -s concurrent) <<<"$packages" || true)
[ -z "$plain" ] || go test $plain
[ -z "$concurrent" ] || make -s race-quick PACKAGES="$(echo $concurrent)"
go run ./tools/affected -since "$base" -files | grep -E '\.(go|sql|lua)$' | xargs -r go run ./tools/mutate -written
