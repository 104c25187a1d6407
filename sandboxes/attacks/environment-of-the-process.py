"""Read the host's secret variable from os.environ.

guarantee: no-secrets
layer: kernel
wins: reveals
"""

print(os.environ[TARGET["variable"]])
