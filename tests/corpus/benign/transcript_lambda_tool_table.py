tools = {
    "head": lambda n=3: context.splitlines()[: int(n)],
    "grep": lambda word, limit="2": [l for l in context.splitlines() if word in l][: int(limit)],
    "count": lambda word: context.count(word),
    "slice": lambda a, b: context[int(a):int(b)],
}
script = """
head 2
count ERROR
grep example.com 1
slice 0 12
count
rm everything
head many
"""
for line in script.strip().splitlines():
    name, *args = line.split()
    try:
        result = tools[name](*args)
    except KeyError as e:
        result = f"unknown tool {e}"
    except (TypeError, ValueError) as e:
        result = f"{type(e).__name__}"
    shown = repr(result)
    print(f"$ {line}\n  {shown if len(shown) < 70 else shown[:67] + '...'}")
