import re

text = "Order #1234 shipped 2024-03-05 to bob@example.org; order #77 is late (since 2024-02-28)."
ORDER = re.compile(r"#(?P<number>\d+)", re.I)
print(ORDER.findall(text), [m.span() for m in ORDER.finditer(text)], ORDER.pattern, ORDER.groups, ORDER.groupindex["number"])
print(re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", text)[20:35])
print(re.sub(r"\b(\w)(\w*)", lambda m: m[1].upper() + m[2], "the big cat"), re.subn("a", "o", "banana"))
print(re.split(r"[;,.]\s*", "a; b,c.d"), re.split(r"(-)", "a-b"), re.escape("1+1=2?"))
m = re.fullmatch(r"(?P<user>[^@\s]+)@(?P<host>[\w.]+)", "bob@example.org")
print(m.groupdict(), m["user"], m.group(1, 2), m.start("host"), m.expand(r"\g<host>:\g<user>"))
print(re.match("b", "abc"), bool(re.search("(?i)ORDER", text)), re.findall(r"(?<=\()\w+", text))
print(re.findall(r"(?m)^\w", "ab\ncd"), re.findall(r"a.c", "a\nc", re.DOTALL), re.compile(r"""
    \d+   # digits
    \s*   # space
    [a-z] # unit
""", re.VERBOSE).findall("3 m and 10k"))
try:
    re.compile("(unclosed")
except re.error as e:
    print("re.error:", e.msg, e.pos)
