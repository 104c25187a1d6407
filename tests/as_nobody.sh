#!/usr/bin/env bash
# Runs a command as uid 65534, in this directory: tests/as_nobody.sh CMD...
#
# Needs root. An interpreter under a closed home (/root) is made reachable in a mount namespace of the
# command's own; the machine is not changed. The command finds a fresh TMPDIR and HOME, an otherwise clean
# environment, and .venv/bin first on its PATH; it cannot write here, so pytest wants `-p no:cacheprovider`.
set -euo pipefail
if [ "$(id -u)" != 0 ]; then
    echo "as_nobody: only root can become uid 65534; this is uid $(id -u)" >&2
    exit 2
fi
here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="$(realpath "$here/.venv")"
base="$("$venv/bin/python" -I -c 'import os, sys; print(os.path.realpath(sys.base_prefix))')"
home="$(mktemp -d)"
trap 'rm -rf "$home"' EXIT
chown 65534:65534 "$home"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all
    env -i HOME="$home" TMPDIR="$home" PATH="$venv/bin:/usr/local/bin:/usr/bin:/bin" LANG=C.UTF-8
    PYTHONDONTWRITEBYTECODE=1 ${RLM_SECURE_CI:+RLM_SECURE_CI="$RLM_SECURE_CI"})
cd "$here"
if "${nobody[@]}" python -I -c 'import os; os.stat("pyproject.toml")' 2>/dev/null; then
    "${nobody[@]}" "$@"
else
    .ci/reachable "$base" "$venv" "$here" "$home" -- "${nobody[@]}" "$@"
fi
