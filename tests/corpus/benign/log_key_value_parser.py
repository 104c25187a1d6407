def parse_kv(line):
    result = {}
    for part in line.split():
        key, sep, value = part.partition("=")
        if sep:
            result[key] = int(value) if value.isdigit() else value
    return result

records = [parse_kv(line) for line in context.splitlines()]
records = [r for r in records if r]
print(len(records), records[0])
keys = sorted({key for r in records for key in r})
print(keys)
print(sum(r.get("bytes", 0) for r in records))
