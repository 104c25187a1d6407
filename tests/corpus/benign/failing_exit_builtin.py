checked = 0
for line in context.splitlines():
    checked += 1
    if "WARNING" in line:
        print("found the first warning")
        exit()
print("none among", checked)
