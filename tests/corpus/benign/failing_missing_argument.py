def summarise(text, *, limit):
    return text[:limit]

print(summarise(context, limit=10))
print(summarise(context))
