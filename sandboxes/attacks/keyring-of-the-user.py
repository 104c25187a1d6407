"""Get hold of the user's session keyring.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - keyrings are optional in a kernel
"""

KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING = 0, -3
print("WON", call("keyctl", KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1, 0, 0))
