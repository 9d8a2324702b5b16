#!/usr/bin/env bash
# Builds the image for arm64, and runs it on this machine under qemu, in its own root as user 65532:
# `version`, and the demo. It needs root, buildah and qemu-user-static.
set -euo pipefail
cd "$(dirname "$0")/.."
emulator=$(command -v qemu-aarch64-static) || { echo "qemu-aarch64-static is missing: apt-get install qemu-user-static" >&2; exit 1; }
work=$(mktemp -d)
store=(--storage-driver vfs --root "$work/store" --runroot "$work/run")
trap 'buildah "${store[@]}" umount --all >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

make -s image ARCH=arm64 IMAGE=campaignd:arm64 BUILDAH_FLAGS="${store[*]}" >"$work/image.log" 2>&1 || { cat "$work/image.log"; exit 1; }
root=$(buildah "${store[@]}" mount "$(buildah "${store[@]}" from --arch arm64 campaignd:arm64)")
install -d -o 65532 -g 65532 "$root/tmp"
cp "$emulator" "$root/qemu"
inside() { chroot --userspec=65532:65532 "$root" /qemu /campaignd "$@"; }
inside version | tee "$work/version"
grep -q linux/arm64 "$work/version"
inside demo | tail -n 16
