import re

def redact(match):
    user, domain = match.group(1), match.group(2)
    return user[0] + "*" * (len(user) - 1) + "@" + domain

text = "Contact: alice.smith@example.com, bob@test.org or root@localhost"
print(re.sub(r"([\w.]+)@([\w.]+)", redact, text))
print(re.sub(r"\b(\w)(\w*)\b", lambda m: m.group(1).upper() + m.group(2), "the quick brown fox"))
print(re.subn(r"\s+", " ", "a  b \n c"))
