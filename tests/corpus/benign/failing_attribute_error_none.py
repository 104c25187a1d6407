import re

def find_date(text):
    m = re.search(r"\d{4}-\d{2}-\d{2}", text)
    return m.group(0)

print(find_date("released 2024-03-01"))
print(find_date("no date in here"))
