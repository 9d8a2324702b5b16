#!/usr/bin/env bash
# Runs every fuzz target of the module, or the targets of some packages, one after the other.
#
#   scripts/fuzz.sh [TIME [PACKAGE...]]     TIME for each target, default 10s; PACKAGE as ./recipients
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10s} packages=" ${*:2} "
count=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A worker that is busy when its time ends makes go test fail with "context deadline exceeded" and
# without an input (https://github.com/golang/go/issues/75804). That is no crash: the target is
# fuzzed once more. A crash names the input that it wrote.
fuzz() {
	go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" "$2" 2>&1 | tee "$log" && return
	if grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log"; then
		echo "fuzz $2 $1 once more: its worker did not end in time"
		go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" "$2"
		return
	fi
	return 1
}

while IFS=: read -r file func; do
	name=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$func")
	package=./$(dirname "$file")
	[[ -z ${packages// /} || $packages == *" $package "* ]] || continue
	echo "fuzz $package $name for $time"
	fuzz "$name" "$package"
	count=$((count + 1))
done < <(git ls-files -co --exclude-standard '*_test.go' | xargs grep -HE '^func Fuzz[A-Za-z0-9_]*\(' | sort)

[[ $count -gt 0 || -n ${packages// /} ]] || { echo "fuzz.sh: no fuzz target found" >&2; exit 1; }
echo "fuzz: $count targets, no crash"
