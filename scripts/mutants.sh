#!/usr/bin/env bash
# Plants each known mistake (internal/mutant) and requires that a test finds it: the simulation of the
# send path, else the tests of the package that holds the mistake. Test binaries are built once;
# CAMPAIGND_MUTANT chooses the mistake. A mistake that survives fails.
#
#   scripts/mutants.sh            every mistake that the code can plant
#   scripts/mutants.sh NAME...    these
#   SEEDS=N                       seeds of the simulation for each mistake (default 30)
set -euo pipefail
cd "$(dirname "$0")/.."

simulation=./campaign/sender
seeds=${SEEDS:-30}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "package file name" for each place where a mistake is planted.
planted=$(git ls-files -co --exclude-standard '*.go' | grep -v '_test\.go$' | xargs grep -oE 'mutant\.On\("[^"]+"\)' |
	sed -E 's|^(.*)/([^/]*):.*"(.*)".*|./\1 \2 \3|' | sort -u)
# Where the simulation never comes: it has a network of its own and a ledger in memory or SQLite.
elsewhere='/messaging client|/throttle redis|/ledger/postgres '
mapfile -t names < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else awk '{print $3}' <<<"$planted" | sort -u; fi)
[ ${#names[@]} -gt 0 ] && [ -n "${names[0]}" ] || { echo "mutants.sh: no mutant.On(\"...\") in the code" >&2; exit 1; }

binary() { echo "$work/$(tr ./ __ <<<"$1").test"; }

# try PACKAGE MUTANT runs a package's tests with the mistake planted; it fails when a test does.
try() {
	local b
	b=$(binary "$1")
	[ -x "$b" ] || go test -c -tags mutants -o "$b" "$1"
	case $1 in
	"$simulation") set -- "$1" "$2" -test.run '^TestSimulation' -seeds "$seeds" -failures 1 ;;
	./internal/ledger/sqlite | ./internal/ledger/postgres) set -- "$1" "$2" -test.run '^TestEachMutation' ;;
	esac
	(cd "$1" && CAMPAIGND_MUTANT=$2 "$b" -test.short -test.failfast -test.timeout 90s "${@:3}") >"$work/log" 2>&1
}

# sound PACKAGE: without a mistake its tests pass, or a failure with one would prove nothing. Checked once.
sound() {
	[ ! -e "$(binary "$1").sound" ] || return 0
	try "$1" "" || { cat "$work/log"; echo "mutants.sh: the tests of $1 fail without a mistake" >&2; exit 1; }
	touch "$(binary "$1").sound"
}

survivors=()
for name in "${names[@]}"; do
	start=$SECONDS
	by=""
	places=$(awk -v n="$name" '$3 == n' <<<"$planted")
	for package in $(grep -vE "$elsewhere" <<<"$places" | sed "s|.*|$simulation|" | head -n 1) $(awk '{print $1}' <<<"$places" | uniq); do
		sound "$package"
		if try "$package" "$name"; then
			continue
		fi
		grep -qE '^\s*--- FAIL|^panic: test timed out' "$work/log" || { cat "$work/log"; echo "mutants.sh: $name ended without a failing test" >&2; exit 1; }
		by=$package
		break
	done
	if [ -n "$by" ]; then
		printf 'found     %-26s by %s, %d s\n' "$name" "$by" $((SECONDS - start))
	else
		printf 'SURVIVED  %s\n' "$name"
		survivors+=("$name")
	fi
done
[ ${#survivors[@]} -eq 0 ] || { echo "mutants.sh: found by no test: ${survivors[*]}" >&2; exit 1; }
echo "mutants: ${#names[@]} planted, all found"
