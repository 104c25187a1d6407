question = "Which module has the most errors?"
snippet = "\n".join(line for line in context.splitlines() if " ERROR " in line)[:500]
answer_text = llm_query(f"Answer from this log.\nQuestion: {question}\n\n{snippet}")
print(type(answer_text).__name__, len(answer_text) > 0)
print(answer_text)
