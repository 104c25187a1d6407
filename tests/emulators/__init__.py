"""Small local servers that speak the providers' wire protocols, so that the real SDKs run without an account.

A sandbox is a local process tree in a private directory: the emulators add no wall at all, so what holds in the
tests is what our guest builds itself. They record what was asked for, and break on demand.
"""
