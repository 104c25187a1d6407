import secrets
import string

alphabet = string.ascii_letters + string.digits
password = "".join(secrets.choice(alphabet) for _ in range(16))
print(len(password), all(c in alphabet for c in password), len(secrets.token_hex(8)), 0 <= secrets.randbelow(10) < 10)
checks = {
    "lower": any(c.islower() for c in "aB3"),
    "upper": any(c.isupper() for c in "aB3"),
    "digit": any(c.isdigit() for c in "aB3"),
}
print(checks, all(checks.values()))
print(secrets.compare_digest("a", "a"))
