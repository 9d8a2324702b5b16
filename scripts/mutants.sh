#!/usr/bin/env bash
# Applies each named mutation (internal/mutant) and requires that a test detects it: the simulation
# of the send path and a scene of it, else the tests of the package with the mutation. The test
# binaries are built once; CAMPAIGND_MUTANT chooses the mutation. The script fails if a mutation
# survives.
#
#   scripts/mutants.sh            every mutation in the code
#   scripts/mutants.sh NAME...    these mutations
#   SEEDS=N                       seeds of the simulation for each mutation (default 30)
set -euo pipefail
cd "$(dirname "$0")/.."

simulation=./campaign/sender
seeds=${SEEDS:-30}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "package file name" for each place of a mutation.
mutations=$(git ls-files -co --exclude-standard '*.go' | grep -v '_test\.go$' | xargs grep -oE 'mutant\.On\("[^"]+"\)' |
	sed -E 's|^(.*)/([^/]*):.*"(.*)".*|./\1 \2 \3|' | sort -u)
# Code that the simulation does not run: it has a network of its own and an SQLite ledger.
elsewhere='/webhooks |/messaging client|/messaging exchange|/wirelog |/throttle redis|/ledger/postgres '
mapfile -t names < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else awk '{print $3}' <<<"$mutations" | sort -u; fi)
[ ${#names[@]} -gt 0 ] && [ -n "${names[0]}" ] || { echo "mutants.sh: no mutant.On(\"...\") in the code" >&2; exit 1; }

binary() { echo "$work/$(tr ./ __ <<<"$1").test"; }

# try PACKAGE MUTATION runs a package's tests with the mutation applied. It fails when a test fails.
try() {
	local b
	b=$(binary "$1")
	[ -x "$b" ] || go test -c -tags mutants -o "$b" "$1"
	case $1 in
	"$simulation") set -- "$1" "$2" -test.run '^Test(Simulation|WhatWasGranted)' -seeds "$seeds" -failures 1 ;;
	./internal/ledger/sqlite | ./internal/ledger/postgres) set -- "$1" "$2" -test.run '^TestEachMutation' ;;
	esac
	(cd "$1" && CAMPAIGND_MUTANT=$2 "$b" -test.short -test.failfast -test.timeout 90s "${@:3}") >"$work/log" 2>&1
}

# sound PACKAGE checks once that the package's tests pass without a mutation. Otherwise a failure
# with a mutation would prove nothing.
sound() {
	[ ! -e "$(binary "$1").sound" ] || return 0
	try "$1" "" || { cat "$work/log"; echo "mutants.sh: the tests of $1 fail without a mutation" >&2; exit 1; }
	touch "$(binary "$1").sound"
}

survivors=()
for name in "${names[@]}"; do
	start=$SECONDS
	by=""
	places=$(awk -v n="$name" '$3 == n' <<<"$mutations")
	for package in $(grep -vE "$elsewhere" <<<"$places" | sed "s|.*|$simulation|" | head -n 1) $(awk '{print $1}' <<<"$places" | uniq); do
		sound "$package"
		if try "$package" "$name"; then
			continue
		fi
		grep -qE '^\s*--- FAIL|^panic: test timed out' "$work/log" ||
			{ cat "$work/log"; echo "mutants.sh: $name ended without a failing test" >&2; exit 1; }
		by=$package
		break
	done
	if [ -n "$by" ]; then
		printf 'detected  %-26s by %s, %d s\n' "$name" "$by" $((SECONDS - start))
	else
		printf 'SURVIVED  %s\n' "$name"
		survivors+=("$name")
	fi
done
[ ${#survivors[@]} -eq 0 ] || { echo "mutants.sh: detected by no test: ${survivors[*]}" >&2; exit 1; }
echo "mutants: ${#names[@]} mutations, all detected"
