#!/usr/bin/env bash
# Checks the alerts of the chart with promtool: their form, their unit tests, and that each one
# links to a heading of docs/recovery.md.
set -euo pipefail
cd "$(dirname "$0")/.."
rules=deploy/helm/campaignd/files/alerts.yaml
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cp "$rules" deploy/helm/testdata/alerts_test.yaml "$out/"
bin/promtool check rules --lint=all --lint-fatal "$out/alerts.yaml"
bin/promtool test rules "$out/alerts_test.yaml"
for link in $(sed -n 's/.*RUNBOOK#\([a-z-]*\).*/\1/p' "$rules"); do
	grep -qiE "^#+ $link\$" docs/recovery.md || { echo "docs/recovery.md has no heading $link"; exit 1; }
done
