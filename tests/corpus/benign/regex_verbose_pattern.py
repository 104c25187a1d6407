import re

phone = re.compile(r"""
    (?:\+(?P<country>\d{1,3})[\s-]?)?   # country code
    \(?(?P<area>\d{3})\)?[\s-]?         # area
    (?P<rest>\d{3}[\s-]?\d{4})          # number
""", re.VERBOSE)

for candidate in ["+1 (555) 123-4567", "555-987-6543", "(212)5550000", "12-34"]:
    m = phone.fullmatch(candidate)
    if m is None:
        print(candidate, "-> no match")
    else:
        print(candidate, "->", m.group("country"), m["area"], m["rest"].replace("-", ""))
