# The template of E2B sandboxes: a Python 3.11 or newer, and as little else as its base allows.
#
# BASE has no default: what untrusted code runs in is named by the digest of what was reviewed, not by a tag that
# can move. Nothing is installed, here or at start; the guest is put in by the host when a sandbox starts. With packages, a
# step after FROM installs the wheels of ../data/requirements.txt, and nothing else.
# Build it with `rlm_secure.environments.cloud.images.build("e2b", "python@sha256:<digest>")`.
ARG BASE
FROM ${BASE}

# No program keeps a setuid or setgid bit, E2B's sudo included: cells cannot use it (no_new_privs), and nothing
# else in there needs it.
RUN python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "the base needs Python 3.11 or newer")' \
    && find / -xdev -perm /6000 -type f -exec chmod a-s {} +

USER user
WORKDIR /home/user
