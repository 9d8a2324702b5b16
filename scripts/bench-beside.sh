#!/bin/sh
# Compares another commit with this tree. Compare the CPU a message of the two, not the rates,
# because other load on the machine changes the rates more.
#
#   scripts/bench-beside.sh COMMIT                            PAIRS (5) pairs of MESSAGES (40000), medians by row
#   scripts/bench-beside.sh COMMIT [flags of tools/bench]     both at the same time, once
#   scripts/bench-beside.sh HEAD~1 -cluster -quick
#
# Without flags the two are measured in turn, the other one first in every second pair. Each row has
# CPU a message of campaignd and of PostgreSQL in microseconds, and the rate against the bare loop
# of the same run. A tools/bench that has no -silent has no rows without statuses.
#
# With flags it prints the result of COMMIT first. Repeat it until the differences between the runs
# are smaller than the one that you look for.
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

# row SIDE NAME FLAGS... adds a line for each table of campaignd: side, name, CPU of campaignd, CPU
# of PostgreSQL, part of the bare loop's rate. The tables of SQLite have no column for PostgreSQL.
row() {
	side=$1 name=$2
	shift 2
	"$work/$side" -quick -n 1 -rows 1000 -messages "${MESSAGES:-40000}" "$@" >"$work/out" 2>"$work/log" || {
		grep -q 'flag provided but not defined' "$work/log" && return
		cat "$work/log" >&2
		exit 1
	}
	sed 's/([^)]*)//g' "$work/out" | awk -v side="$side" -v name="$name" '
		/^bare net\/http loop/ { bare = $4 }
		/^campaignd / && bare { print side "|" name "|" $3 "|" $4 "|" $2 / bare; bare = 0 }
		/^(singly|by 64) +bare net\/http loop/ { loop = $1 == "by" ? $6 : $5 }
		/^(singly|by 64) +campaignd +[0-9]/ {
			n = $1 == "by" ? 4 : 3
			print side "|" name ", " ($1 == "by" ? "by 64" : "singly") "|" $(n + 1) "|-|" $n / loop
		}' >>"$work/rows"
}

pair() {
	for side in $1 $2; do
		row "$side" "PostgreSQL, by 64" -cluster -period 1s
		row "$side" SQLite
		row "$side" "PostgreSQL, no statuses, 200 open" -cluster -silent -workers 200
		for open in 48 200 1000; do # some 10, 5 and 3 seconds for each side
			row "$side" "PostgreSQL, no statuses, $open open at 50 ms" -cluster -silent -workers $open -delay 50ms \
				-messages $((open < 100 ? ${MESSAGES:-40000} / 4 : open < 1000 ? ${MESSAGES:-40000} / 2 : ${MESSAGES:-40000}))
		done
	done
}

# medians prints a line for each name, in the order in which the names came.
medians() {
	awk -F '|' '
		function median(key,   i, j, x, v) {
			if (!n[key]) return "-"
			for (i = 1; i <= n[key]; i++) v[i] = at[key, i]
			for (i = 2; i <= n[key]; i++) for (j = i; j > 1 && v[j] + 0 < v[j-1] + 0; j--) { x = v[j]; v[j] = v[j-1]; v[j-1] = x }
			return v[int((n[key] + 1) / 2)]
		}
		function part(a, b) { return a == "-" || b == "-" || b == 0 ? "-" : sprintf("%.2f", a / b) }
		{
			if (!seen[$2]++) order[++names] = $2
			for (i = 3; i <= 5; i++) { key = $1 "|" $2 "|" i; at[key, ++n[key]] = $i }
		}
		END {
			print "| | campaignd us: before, now, ratio | PostgreSQL us: before, now, ratio | of the bare loop: before, now |"
			print "|---|---|---|---|"
			for (k = 1; k <= names; k++) {
				o = "other|" order[k] "|"; t = "this|" order[k] "|"
				printf "| %s | %s, %s, %s | %s, %s, %s | %s, %s |\n", order[k], median(o 3), median(t 3), part(median(t 3), median(o 3)),
					median(o 4), median(t 4), part(median(t 4), median(o 4)), part(median(o 5), 1), part(median(t 5), 1)
			}
		}' "$work/rows"
}

if [ $# -eq 0 ]; then
	: >"$work/rows"
	for i in $(seq "${PAIRS:-5}"); do
		echo "pair $i" >&2
		if [ $((i % 2)) -eq 0 ]; then pair other this; else pair this other; fi
	done
	medians
	exit
fi

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
