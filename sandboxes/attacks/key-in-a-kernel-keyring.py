"""Keep a key in a keyring that other processes of the user share.

guarantee: no-secrets
layer: kernel
wins: prints
outcome: harmless
needs: ctypes
control: machine - keyrings are optional in a kernel
"""

KEY_SPEC_USER_KEYRING, KEYCTL_UNLINK = -4, 9
key = call("add_key", "user", TARGET["tag"], "x", 1, KEY_SPEC_USER_KEYRING)
try:
    print("WON", key)
finally:
    call("keyctl", KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING, 0, 0)
