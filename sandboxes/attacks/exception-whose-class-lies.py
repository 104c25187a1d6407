"""Raise an exception whose class has no name.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

class Meta(type):
    @property
    def __name__(cls):
        raise SystemExit(9)

    @property
    def __module__(cls):
        raise SystemExit(9)

class Made(Exception, metaclass=Meta):
    pass

raise Made
