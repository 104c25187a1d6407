"""Read the environment of another process of the same user.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

print(open(f"/proc/{TARGET['bystander']}/environ").read())
