"""Never end while the text of the exception is built, and swallow the interrupt there.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

class Made(Exception):
    def __str__(self):
        while True:
            try:
                while True:
                    pass
            finally:
                continue

raise Made
