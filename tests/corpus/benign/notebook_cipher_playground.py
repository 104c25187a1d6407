import string
from collections import Counter

ALPHABET = string.ascii_lowercase


def caesar(text, shift):
    moved = ALPHABET[shift:] + ALPHABET[:shift]
    return text.translate(str.maketrans(ALPHABET + ALPHABET.upper(), moved + moved.upper()))


def vigenere(text, key, sign=1):
    out, k = [], 0
    for ch in text:
        if ch.isalpha():
            offset = ord("A") if ch.isupper() else ord("a")
            shift = ord(key[k % len(key)].lower()) - ord("a")
            out.append(chr((ord(ch) - offset + sign * shift) % 26 + offset))
            k += 1
        else:
            out.append(ch)
    return "".join(out)


secret = caesar("The quick brown fox jumps over the lazy dog, then sleeps.", 7)
print(secret)
english = "etaoinshrdlu"


def score(text):
    counts = Counter(c for c in text.lower() if c in ALPHABET)
    return sum(n * (len(english) - english.index(c)) for c, n in counts.items() if c in english)


best = max(range(26), key=lambda s: score(caesar(secret, s)))
print(26 - best, caesar(secret, best))
print(vigenere("Attack at dawn", "LEMON"), vigenere(vigenere("Attack at dawn", "LEMON"), "LEMON", -1))
print("".join(chr(ord(a) ^ ord(b)) for a, b in zip("hello", "\x01\x02\x03\x04\x05")).encode())
