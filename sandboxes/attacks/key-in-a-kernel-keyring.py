"""Leave a key in a keyring that other processes of the user share.

guarantee: no-secrets
layer: kernel
wins: prints
control: machine - keyrings are optional in a kernel
"""

KEY_SPEC_USER_KEYRING = -4
print("WON", call("add_key", "user", TARGET["tag"], "x", 1, KEY_SPEC_USER_KEYRING))
