"""Readers: from a file's text to what rules look at, with the place of everything in it.

None of them runs what it reads, and each raises Unreadable for text that is not what it should be.
"""
