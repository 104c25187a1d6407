#!/usr/bin/env bash
# Makes the image that the Docker tests build upon, without a registry: tests/docker/base_image.sh NAME
#
# A minimal Debian with python3, from the machine's own package mirror, imported as NAME. The tarball is kept in
# /var/cache/rlm-secure-tests: only the first run makes it. Needs root, a running engine and mmdebstrap, which installs
# what debootstrap does in half the time.
set -euo pipefail
name="$1"
suite="${SUITE:-bookworm}"
cache=/var/cache/rlm-secure-tests
tarball="$cache/base-$suite.tar"

if docker image inspect "$name" >/dev/null 2>&1; then # an arena, which can make none, finds it here
    exit 0
fi
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # several tests may ask for it at a time

if docker image inspect "$name" >/dev/null 2>&1; then
    exit 0
fi
mirror="$(sed -nE 's/^(deb|URIs:)[[:space:]]+(\[[^]]*\] )?(https?:[^ ]*).*/\3/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)"
if [ ! -s "$tarball" ]; then
    mmdebstrap --quiet --variant=minbase --include=python3 --format=tar --skip=output/dev \
        --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
        --customize-hook='rm -rf "$1/usr/share/doc" "$1/usr/share/man"' \
        "$suite" "$tarball.part" "${mirror:-http://deb.debian.org/debian}" >"$tarball.log" 2>&1 || {
        tail -n 20 "$tarball.log" >&2
        exit 1
    }
    mv "$tarball.part" "$tarball"
fi
docker import "$tarball" "$name" >/dev/null
