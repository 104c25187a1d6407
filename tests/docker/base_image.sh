#!/usr/bin/env bash
# Makes the image that the Docker tests build upon, without a registry: tests/docker/base_image.sh NAME
#
# A minimal Debian with python3, from the machine's own package mirror, imported as NAME. The tarball is kept in
# /var/cache/rlm-secure-tests, so that only the first run takes its minute. Needs root, debootstrap and a running engine.
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
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
    debootstrap --variant=minbase --include=python3 "$suite" "$work/root" "${mirror:-http://deb.debian.org/debian}" >"$work/log" 2>&1 || {
        tail -n 20 "$work/log" >&2
        exit 1
    }
    rm -rf "$work/root/var/cache/apt/archives" "$work/root/var/lib/apt/lists" "$work/root/usr/share/doc" "$work/root/usr/share/man"
    tar -C "$work/root" --numeric-owner --exclude=./dev --exclude=./proc --exclude=./sys -cf "$tarball.part" .
    mv "$tarball.part" "$tarball"
fi
docker import "$tarball" "$name" >/dev/null
