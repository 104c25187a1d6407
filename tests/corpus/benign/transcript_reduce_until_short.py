def condense(texts, limit=400, level=0):
    total = sum(map(len, texts))
    print(f"level {level}: {len(texts)} texts, {total} chars")
    if total <= limit or len(texts) == 1:
        return "\n".join(texts)
    groups, current = [], []
    for text in texts:
        if current and sum(map(len, current)) + len(text) > limit:
            groups.append(current)
            current = []
        current.append(text)
    groups.append(current)
    return condense(llm_query_batched(["Condense:\n" + "\n".join(g) for g in groups]), limit, level + 1)


notes = llm_query_batched([f"Note on line {i}\n{line}" for i, line in enumerate(context.splitlines()) if "ERROR" in line])
result = condense(notes)
print(result[:120])
