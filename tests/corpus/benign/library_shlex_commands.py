import shlex

script = """
# copy the data
copy --from "My Documents/in.csv" --to backup/ --force
rename 'old name.txt' new\\ name.txt
say "he said \\"hi\\""
broken "unclosed
"""
for number, line in enumerate(script.splitlines()):
    try:
        words = shlex.split(line, comments=True)
    except ValueError as e:
        print(f"line {number}: {e}")
        continue
    if not words:
        continue
    command, *args = words
    options = {}
    positional = []
    it = iter(args)
    for a in it:
        if a.startswith("--"):
            options[a[2:]] = next(it, True)
        else:
            positional.append(a)
    print(command, options, positional)
print(shlex.quote("it's here"), shlex.join(["ls", "-l", "my file"]))
