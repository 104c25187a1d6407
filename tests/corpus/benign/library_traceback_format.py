import traceback


def parse_row(row):
    return {"id": int(row[0]), "value": float(row[1])}


rows = [("1", "2.5"), ("x", "1"), ("3", "")]
good, errors = [], []
for number, row in enumerate(rows):
    try:
        good.append(parse_row(row))
    except ValueError:
        text = traceback.format_exc()
        errors.append((number, text.strip().splitlines()[-1]))
print(good)
for number, last in errors:
    print(f"row {number}: {last}")
try:
    {}["key"]
except KeyError as e:
    print("".join(traceback.format_exception_only(type(e), e)).strip())
    print(traceback.format_exc().startswith("Traceback (most recent call last):"))
