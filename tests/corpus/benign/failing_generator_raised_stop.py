def first_match(lines, word):
    return next(line for line in lines if word in line)

lines = context.splitlines()
print(first_match(lines, "disk cache")[:40])
print(first_match(lines, "unicorn"))
