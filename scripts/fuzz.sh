#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other.
#
#   scripts/fuzz.sh [TIME]     TIME for each target, default 10s
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10s}
count=0
while IFS=: read -r file func; do
	name=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$func")
	package=./$(dirname "$file")
	echo "fuzz $package $name for $time"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package"
	count=$((count + 1))
done < <(git ls-files -co --exclude-standard '*_test.go' | xargs grep -HE '^func Fuzz[A-Za-z0-9_]*\(' | sort)

[ "$count" -gt 0 ] || { echo "fuzz.sh: no fuzz target found" >&2; exit 1; }
echo "fuzz: $count targets, no crash"
