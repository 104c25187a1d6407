def read(lines):
    for line in lines:
        yield line.rstrip()

def grep(lines, needle):
    return (line for line in lines if needle in line)

def number(lines):
    for i, line in enumerate(lines, 1):
        yield f"{i:02d} {line}"

for line in list(number(grep(read(context.splitlines()), "ERROR")))[:4]:
    print(line[:70])
