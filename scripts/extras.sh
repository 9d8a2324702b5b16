#!/usr/bin/env bash
# Writes to FOLDER what packages have beside the binary: man pages, completion scripts and the
# systemd unit for /usr/bin. The man pages are made from the golden file of the commands' help,
# which a test compares with the commands.
#
#   scripts/extras.sh FOLDER [DATE]
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1 date=${2:-$(git log -1 --format=%cs)}
rm -rf "$out" && mkdir -p "$out/man" "$out/completions"

awk -v out="$out/man" -v date="$date" '
function finish() { if (file) { print ".fi" > file; close(file) } }
/^=== / {
	finish()
	name = substr($0, 5); page = name; gsub(/ /, "-", page)
	file = out "/" page ".1"; first = 1
	printf ".TH \"%s\" 1 \"%s\" campaignd\n.SH NAME\n", toupper(page), date > file
	next
}
file == "" { next }
{ gsub(/\\/, "\\e"); gsub(/-/, "\\-"); if ($0 ~ /^[.\x27]/) $0 = "\\&" $0 }
first && NF { short = $0; sub(/\. .*/, "", short); gsub(/ /, "-", name)
	printf "%s \\- %s\n.SH DESCRIPTION\n.nf\n%s\n", name, short, $0 > file; first = 0; next }
/^[A-Z][A-Za-z ]*:$/ { sub(/:$/, ""); printf ".fi\n.SH %s\n.nf\n", toupper($0) > file; next }
{ print > file }
END { finish() }' cmd/campaignd/testdata/help.golden

go build -trimpath -o "$out/campaignd" ./cmd/campaignd
for shell in bash zsh fish; do "$out/campaignd" completion $shell >"$out/completions/campaignd.$shell"; done
rm "$out/campaignd"
sed 's#/usr/local/bin/#/usr/bin/#g' deploy/systemd/campaignd.service >"$out/campaignd.service"
