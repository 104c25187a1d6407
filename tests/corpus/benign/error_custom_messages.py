def validate(record):
    problems = []
    if not record.get("name"):
        problems.append("name is empty")
    if not 0 <= record.get("age", -1) <= 150:
        problems.append(f"age {record.get('age')!r} out of range")
    if problems:
        raise ValueError("; ".join(problems))
    return True

for record in ({"name": "A", "age": 3}, {"name": "", "age": 200}, {}):
    try:
        print(validate(record))
    except ValueError as e:
        print("invalid:", e)
