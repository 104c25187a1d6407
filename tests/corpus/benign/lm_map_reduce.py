def map_reduce(text, question, size=2000):
    pieces = [text[i:i + size] for i in range(0, len(text), size)]
    partial = llm_query_batched([f"{question}\n---\n{piece}" for piece in pieces])
    while len(partial) > 1:
        groups = [partial[i:i + 3] for i in range(0, len(partial), 3)]
        partial = llm_query_batched([question + "\n" + "\n".join(group) for group in groups])
    return partial[0]

print(map_reduce(context, "What failed?"))
