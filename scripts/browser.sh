#!/usr/bin/env bash
# Opens the HTML reports and the pages of the console in Debian's chromium and judges them
# (tools/browser).
#
#   scripts/browser.sh [ARGUMENTS]   arguments of the tests, for example -pictures DIR
set -euo pipefail
cd "$(dirname "$0")/.."

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
export TMPDIR=$pages/tmp # a browser that a test ends leaves its folders there
chmod 711 "$pages"
mkdir -m 1777 "$TMPDIR" # a test of root has PostgreSQL run as another user
go build -o "$pages/campaignd" ./cmd/campaignd
"$pages/campaignd" demo --dir "$pages/demo" >"$pages/demo.log" 2>&1 || { cat "$pages/demo.log"; exit 1; }
go test ./reporting/html -run 'TestReportsReadAsBefore$' -count=1 -pages "$pages"
"$pages/campaignd" report latest --config "$pages/demo/campaignd.yaml" --html "$pages/demo.html" # of this demo, not the recorded one
cd tools/browser
go vet ./...
go test ./... -count=1 -v -timeout 40m -pages "$pages" -campaignd "$pages/campaignd" "$@"
