import re

config_text = """
# server settings
host = example.org
port = 8080   # the usual
debug = yes
[limits]
memory = 512MB
timeout = 1m30s
ratio = 0.75
bad line here
"""

UNITS = {"KB": 2 ** 10, "MB": 2 ** 20, "GB": 2 ** 30}


def value(text):
    if (low := text.lower()) in ("yes", "no", "true", "false"):
        return low in ("yes", "true")
    if m := re.fullmatch(r"(\d+)([KMG]B)", text):
        return int(m[1]) * UNITS[m[2]]
    if (m := re.fullmatch(r"(?:(\d+)m)?(\d+)s", text)) is not None:
        return int(m[1] or 0) * 60 + int(m[2])
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


section, config, problems = "main", {}, []
for number, line in enumerate(config_text.splitlines(), 1):
    if not (line := line.split("#")[0].strip()):
        continue
    if m := re.fullmatch(r"\[(\w+)\]", line):
        section = m[1]
    elif "=" in line:
        key, text = (p.strip() for p in line.split("=", 1))
        config.setdefault(section, {})[key] = value(text)
    else:
        problems.append(f"line {number}: {line!r}")
print(config)
print(problems, [y for x in range(6) if (y := x * x) % 2])
