# What variables do I have so far?
import re
emails = re.findall(r"[\w.+-]+@[\w-]+\.[\w.]+[a-z]", context)
domains = {e.split("@")[1] for e in emails}
count = len(emails)

def overview():
    first, second = emails[:2]
    inside = locals()
    return sorted(inside), type(inside["first"]).__name__

print(overview())
mine = {name: type(value).__name__ for name, value in globals().items() if name in ("emails", "domains", "count")}
print(mine)
print(sorted(domains), count)
print("SHOW_VARS" in globals())
