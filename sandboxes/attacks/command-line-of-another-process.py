"""Read the arguments of another process, where people put passwords.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

print(open(f"/proc/{TARGET['bystander']}/cmdline").read())
