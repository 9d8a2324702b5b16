#!/usr/bin/env bash
# Applies each named mutation (internal/mutant) and requires that a test detects it. Mutations of
# the protocol are tried with the simulation of the send path first. Then come the tests of the
# package with the mutation, and last, if it runs that code, the simulation. The test binaries are
# built once; CAMPAIGND_MUTANT chooses the mutation. Two mutations are tried at a time. The script
# fails if a mutation survives.
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

# "package file name" for each call of a mutation.
mutations=$(git ls-files -co --exclude-standard '*.go' | grep -v '_test\.go$' | xargs grep -oE 'mutant\.On\("[^"]+"\)' |
	sed -E 's|^(.*)/([^/]*):.*"(.*)".*|./\1 \2 \3|' | sort -u)
# Code that the simulation does not run: it has a network of its own and an SQLite ledger.
elsewhere='/webhooks |/messaging client|/messaging message|/wirelog |/throttle redis|/ledger/postgres |/campaign listening|/ledger people|/ledger/sqlite people'
# Those of the protocol (docs/protocol.md#mutations) that the simulation detects within seconds.
protocol='no_intent time_out_is_refusal 5xx_is_refusal doubts_not_claimable rank_overwritten sweeper_off failed_resends'
mapfile -t names < <(if [ $# -gt 0 ]; then printf '%s\n' "$@"; else awk '{print $3}' <<<"$mutations" | sort -u; fi)
[ ${#names[@]} -gt 0 ] && [ -n "${names[0]}" ] || { echo "mutants.sh: no mutant.On(\"...\") in the code" >&2; exit 1; }

binary() { echo "$work/$(tr ./ __ <<<"$1").test"; }

# try PACKAGE MUTATION LOG runs a package's tests with the mutation applied. It fails when a test
# fails.
try() {
	local b log=$3
	b=$(binary "$1")
	case $1 in
	"$simulation") set -- "$1" "$2" -test.run '^Test(Simulation|WhatWasGranted|Evidence|TheAllowance|SharesFollow|ARampHolds|ARunsOwnLimitIs)' -seeds "$seeds" -failures 1 ;;
	./internal/ledger/sqlite | ./internal/ledger/postgres) set -- "$1" "$2" -test.run "^TestNoMutationShows/^$2\$" ;;
	*) set -- "$1" "$2" ;;
	esac
	(cd "$1" && CAMPAIGND_MUTANT=$2 "$b" -test.short -test.failfast -test.timeout 90s "${@:3}") >"$log" 2>&1
}

# packages MUTATION lists the packages whose tests may detect it.
packages() {
	local places
	places=$(awk -v n="$1" '$3 == n' <<<"$mutations")
	{
		[[ ! " $protocol " =~ " $1 " ]] || echo "$simulation"
		awk '{print $1}' <<<"$places" | grep -vxF "$simulation" || true
		! grep -qvE "$elsewhere" <<<"$places" || echo "$simulation"
	} | awk '!seen[$0]++'
}

# detect MUTATION prints which package detects it.
detect() {
	local package start=$SECONDS log=$work/$1.log
	for package in $(packages "$1"); do
		if try "$package" "$1" "$log"; then
			continue
		fi
		grep -qE '^\s*--- FAIL|^panic: test timed out' "$log" ||
			{ cat "$log"; echo "mutants.sh: $1 ended without a failing test" >&2; return 1; }
		printf 'detected  %-26s by %s, %d s\n' "$1" "$package" $((SECONDS - start))
		return
	done
	echo "SURVIVED  $1" | tee -a "$work/survived"
}

# The packages' tests must pass without a mutation. Otherwise a failure with one would prove
# nothing.
for package in $(for name in "${names[@]}"; do packages "$name"; done | sort -u); do
	go test -c -tags mutants -o "$(binary "$package")" "$package"
	try "$package" "" "$work/sound" ||
		{ cat "$work/sound"; echo "mutants.sh: the tests of $package fail without a mutation" >&2; exit 1; }
done

export -f binary try packages detect
export simulation seeds work mutations elsewhere protocol
printf '%s\n' "${names[@]}" | xargs -P 2 -I NAME bash -c 'detect NAME'
[ ! -e "$work/survived" ] || { echo "mutants.sh: detected by no test: $(awk '{print $2}' "$work/survived" | xargs)" >&2; exit 1; }
echo "mutants: ${#names[@]} mutations, all detected"
