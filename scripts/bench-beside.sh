#!/bin/sh
# Measures another commit and this tree at the same time, so that other load on the machine slows
# both equally. Compare the CPU a message of the two, not the rates, because they share the CPU.
#
#   scripts/bench-beside.sh COMMIT [flags of tools/bench]
#   scripts/bench-beside.sh HEAD~1 -cluster -quick
#
# It prints the result of COMMIT first. Repeat it until the differences between the runs are smaller
# than the one that you look for.
set -eu

if [ $# -lt 1 ]; then
	echo "usage: scripts/bench-beside.sh COMMIT [flags of tools/bench]" >&2
	exit 2
fi
commit=$1
shift

work=$(mktemp -d)
finish() {
	git worktree remove --force "$work/tree" 2>/dev/null || :
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

git worktree add --quiet --detach "$work/tree" "$commit"
(cd "$work/tree" && CGO_ENABLED=0 go build -o "$work/other" ./tools/bench)
CGO_ENABLED=0 go build -o "$work/this" ./tools/bench

"$work/other" "$@" >"$work/other.out" &
other=$!
failed=0
"$work/this" "$@" >"$work/this.out" 2>/dev/null || failed=$?
wait "$other" || failed=$?
echo "== $commit"
cat "$work/other.out"
echo "== this tree"
cat "$work/this.out"
exit "$failed"
