"""Stop its own process, so that it never answers.

guarantee: bounded-time
layer: kernel
wins: outlasts
"""

os.kill(os.getpid(), 19)
