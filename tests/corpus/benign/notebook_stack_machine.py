import operator

OPS = {"ADD": operator.add, "SUB": operator.sub, "MUL": operator.mul, "LT": operator.lt}
PROGRAM = """
        PUSH 1
        STORE result
        PUSH 6
        STORE n
loop:   LOAD n
        PUSH 2
        LT
        JUMPIF end
        LOAD result
        LOAD n
        MUL
        STORE result
        LOAD n
        PUSH 1
        SUB
        STORE n
        JUMP loop
end:    LOAD result
        PRINT
"""


def assemble(source):
    code, labels = [], {}
    for line in source.strip().splitlines():
        label, colon, rest = line.partition(":")
        if colon:
            labels[label.strip()] = len(code)
            line = rest
        name, *argument = line.split()
        code.append((name, argument[0] if argument else None))
    return code, labels


def run(code, labels, limit=1000):
    stack, names, at, steps = [], {}, 0, 0
    while at < len(code):
        steps += 1
        if steps > limit:
            raise RuntimeError("too many steps")
        name, argument = code[at]
        at += 1
        match name:
            case "PUSH":
                stack.append(int(argument))
            case "LOAD":
                stack.append(names[argument])
            case "STORE":
                names[argument] = stack.pop()
            case "JUMP":
                at = labels[argument]
            case "JUMPIF":
                if stack.pop():
                    at = labels[argument]
            case "PRINT":
                print("out:", stack.pop())
            case op if op in OPS:
                b, a = stack.pop(), stack.pop()
                stack.append(OPS[op](a, b))
            case _:
                raise SyntaxError(f"unknown instruction {name}")
    return steps, names


code, labels = assemble(PROGRAM)
print(len(code), labels)
print(run(code, labels))
for bad in ("here: JUMP here", "HALT", "ADD"):
    try:
        run(*assemble(bad))
    except (RuntimeError, SyntaxError, IndexError) as e:
        print(type(e).__name__, e)
