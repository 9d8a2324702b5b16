#!/usr/bin/env bash
# Builds what a release has, from the commit alone and without publishing anything: archives, deb
# and rpm packages, an SBOM of each binary and the checksums. A clone is built, so that files that
# are not in the commit have no part in it.
#
#   scripts/release.sh FOLDER           build into FOLDER
#   scripts/release.sh --twice FOLDER   build again elsewhere without a cache, and require the same bytes;
#                                       then the same of the image for each architecture
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

# build CLONE FOLDER
build() {
	rm -rf "$1" "$2"
	git clone -q "$root" "$1"
	(cd "$1" && "$root/bin/goreleaser" release --snapshot --clean --parallelism 2)
	mkdir -p "$2"
	(cd "$1/dist" && find . -maxdepth 1 -type f ! -name '*.json' ! -name config.yaml -o -name '*.cdx.json') |
		while read -r file; do cp "$1/dist/$file" "$2/"; done
	rm -rf "$1"
}

if [ "$1" != --twice ]; then
	build "$root/bin/release" "$1"
	ls -l "$1"
	exit
fi
build "$root/bin/release" "$2"
other=$(mktemp -d)
trap 'chmod -R u+w "$other"; rm -rf "$other"' EXIT
GOCACHE=$other/cache build "$other/elsewhere/release" "$other/dist"
(cd "$2" && sha256sum -- * | sort) >"$other/first"
(cd "$other/dist" && sha256sum -- * | sort) >"$other/second"
diff "$other/first" "$other/second"
printf 'two builds gave the same %d files\n' "$(wc -l <"$other/first")"

# digest ARCH prints the digest of the image, which is built anew.
version=$(git -C "$root" describe --tags --always --dirty)
digest() {
	local image=campaignd:twice-$1 store="--storage-driver vfs --root $other/store --runroot $other/run"
	make -s -C "$root" image ARCH="$1" IMAGE="$image" VERSION="$version" BUILDAH_FLAGS="$store" >"$other/image.log" 2>&1 ||
		{ cat "$other/image.log"; exit 1; }
	# shellcheck disable=SC2086 # flags
	buildah $store inspect --type image --format '{{.FromImageDigest}}' "$image"
}
for arch in amd64 arm64; do
	first=$(digest $arch)
	second=$(GOCACHE=$other/cache digest $arch)
	[ "$first" = "$second" ] || { echo "two builds of the image for $arch gave $first and $second"; exit 1; }
	echo "two builds of the image for $arch gave $first"
done
