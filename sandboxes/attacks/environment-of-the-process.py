"""Read the host's secret variable from os.environ.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

import os

print(os.environ[TARGET["variable"]])
