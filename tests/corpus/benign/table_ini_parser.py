text = """
[server]
host = localhost
port = 8080   ; inline comment
debug = yes

[client]
# full-line comment
retries=3
"""
config, section = {}, None
for raw in text.splitlines():
    line = raw.split(";")[0].strip()
    if not line or line.startswith("#"):
        continue
    if line.startswith("[") and line.endswith("]"):
        section = config.setdefault(line[1:-1], {})
    else:
        key, _, value = (part.strip() for part in line.partition("="))
        if value.isdigit():
            value = int(value)
        elif value in ("yes", "no"):
            value = value == "yes"
        section[key] = value
print(config)
