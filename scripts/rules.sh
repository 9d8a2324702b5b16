#!/usr/bin/env bash
# Checks the alerts of the chart with promtool: their form, their unit tests for the file as it is
# and for two releases, that each selector can be narrowed to a release, and that each alert has a
# heading of docs/recovery.md.
set -euo pipefail
cd "$(dirname "$0")/.."
rules=deploy/helm/campaignd/files/alerts.yaml
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cp "$rules" deploy/helm/testdata/alerts*_test.yaml "$out/"
for namespace in a b; do # as templates/monitoring.yaml does
	sed "s/job!=\"\"/namespace=\"$namespace\",job=\"x-admin\"/g" "$rules" >"$out/alerts-$namespace.yaml"
done
bin/promtool check rules --lint=all --lint-fatal "$out/alerts.yaml"
bin/promtool test rules "$out"/*_test.yaml
if grep -vE '(summary|description): |^#' "$rules" | grep -E '(campaignd_[a-z_]+|\bup)([^a-z_{]|\{[^j]|\{j[^o])'; then
	echo 'each selector begins with job!=""'
	exit 1
fi
if grep -n 'job!=' deploy/helm/testdata/monitored.golden.yaml; then
	echo "the chart narrows each selector to its release"
	exit 1
fi
for alert in $(sed -n 's/.*alert: //p' "$rules"); do
	grep -qx "### $alert" docs/recovery.md || { echo "docs/recovery.md has no heading $alert"; exit 1; }
done
