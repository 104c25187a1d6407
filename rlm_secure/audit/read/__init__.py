"""Readers: from a file's text to the subject of rules, with the place of each part.

None of them runs what it reads, and each raises Unreadable for text in the wrong format.
"""
