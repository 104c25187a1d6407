"""Read the environment of another process of the same user.

guarantee: no-secrets
layer: kernel
wins: reveals
"""

print(open(f"/proc/{TARGET['bystander']}/environ").read())
