import re
data = "a=1;b=22;c=333"
results = []
pos = 0
while (m := re.compile(r"(\w)=(\d+);?").match(data, pos)):
    results.append((m[1], int(m[2])))
    pos = m.end()
print(results)
if (n := len(results)) > 2:
    print(f"{n} results")
print([y for x in range(6) if (y := x * x) % 2 == 0])
