query = "timeout"
hits = []
position = context.find(query)
while position != -1:
    lo = max(0, position - 30)
    hi = position + len(query) + 30
    hits.append((position, context[lo:hi].replace("\n", "\\n")))
    position = context.find(query, position + 1)

print(f"{len(hits)} hits for {query!r}")
for pos, snippet in hits[:4]:
    print(f"{pos:>6}: ...{snippet}...")
