"""Read /proc/self/environ, which keeps what was deleted from the environment.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

print(open("/proc/self/environ").read())
