def summarise(text: str, limit: int = 2500, depth: int = 0) -> str:
    indent = "  " * depth
    if len(text) <= limit:
        reply = llm_query(f"Summarise:\n{text}")
        print(f"{indent}leaf of {len(text)} -> {len(reply)} chars")
        return reply
    middle = text.rfind("\n", 0, len(text) // 2)
    middle = middle if middle > 0 else len(text) // 2
    left, right = text[:middle], text[middle:]
    print(f"{indent}split {len(text)} into {len(left)} + {len(right)}")
    joined = "\n".join([summarise(left, limit, depth + 1), summarise(right, limit, depth + 1)])
    return llm_query(f"Merge:\n{joined}")


print(summarise(context[:9000]))
