import re

text = """Name: Ada
AGE : 36
name:Grace
 age: 45"""
pairs = re.findall(r"^\s*(name|age)\s*:\s*(.+?)\s*$", text, flags=re.I | re.M)
print(pairs)
record, people = {}, []
for key, value in pairs:
    record[key.lower()] = int(value) if value.isdigit() else value
    if len(record) == 2:
        people.append(record)
        record = {}
print(people)
print(re.split(r"[;,\s]+", "a, b;c   d"))
