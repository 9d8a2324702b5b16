#!/usr/bin/env bash
# What a contributor runs before each commit: format, build, the repository's rules, the tests of the
# changed packages and of the packages that import them, new findings of the linters, and a warning
# for each added line whose words tire readers (CONTRIBUTING.md, Prose).
#
#   scripts/quick.sh BASE     BASE is the commit that the change starts from
set -euo pipefail
cd "$(dirname "$0")/.."
base=$1

changed=$(go run ./tools/affected -since "$base" -files)
go_files=$(grep '\.go$' <<<"$changed" | xargs -r ls 2>/dev/null || true)
unformatted=$(xargs -r gofmt -l <<<"$go_files")
[ -z "$unformatted" ] || { printf 'not formatted (gofmt -w):\n%s\n' "$unformatted"; exit 1; }

go build ./...
go test ./tools/conventions
packages=$(go run ./tools/affected -since "$base" -direct | grep -vx ./tools/conventions || true)
[ -z "$packages" ] || go test -vet=off $packages

folders=$(xargs -r -n1 dirname <<<"$go_files" | sort -u | sed 's|^|./|')
if [ -n "$folders" ]; then
	make -s bin/golangci-lint
	bin/golangci-lint run --new-from-rev "$base" $folders
fi

# Warnings only: the ordinary word is nearly always better, and sometimes the word is right.
words='has ended|ends|takes|tells|is told|were told|asks? for|is asked for|begins|goes on|stands|beside|is away|nobody|those of|that of|none is'
git diff -U0 "$base" -- '*.go' '*.md' '*.sql' | awk -v words="(^|[^A-Za-z])($words)([^A-Za-z]|$)" '
	/^\+\+\+ / { file = substr($2, 3); prose = file ~ /\.md$/ }
	/^\+/ && !/^\+\+\+/ && (prose || /\/\/|-- |"[^"]*[a-z] [a-z][^"]*"/) && $0 ~ words { print "prose: " file ": " substr($0, 2, 140); if (++n == 20) exit }'
