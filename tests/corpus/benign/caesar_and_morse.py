import string

def caesar(text, shift):
    lower, upper = string.ascii_lowercase, string.ascii_uppercase
    table = str.maketrans(lower + upper, lower[shift:] + lower[:shift] + upper[shift:] + upper[:shift])
    return text.translate(table)

secret = caesar("Attack at Dawn!", 3)
print(secret, caesar(secret, -3))
MORSE = dict(zip("ABCDE", [".-", "-...", "-.-.", "-..", "."]))
print(" ".join(MORSE.get(c, "?") for c in "DECADE"))
print({v: k for k, v in MORSE.items()}["-.-."])
