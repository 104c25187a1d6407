def validate(row):
    problems = []
    if not row.get("name"):
        problems.append(ValueError("name is empty"))
    if not isinstance(row.get("age"), int):
        problems.append(TypeError("age is not a number"))
    if problems:
        raise ExceptionGroup(f"row {row['id']}", problems)
    return row


rows = [{"id": 1, "name": "Ada", "age": 36}, {"id": 2, "name": "", "age": "x"}]
for row in rows:
    print(validate(row)["name"])
