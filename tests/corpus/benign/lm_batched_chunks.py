chunk_size = 1500
chunks = [context[i:i + chunk_size] for i in range(0, len(context), chunk_size)]
prompts = [f"Summarise chunk {i + 1}/{len(chunks)} in one sentence:\n{chunk}" for i, chunk in enumerate(chunks)]
summaries = llm_query_batched(prompts)
assert len(summaries) == len(chunks)
for i, summary in enumerate(summaries):
    print(f"[{i}] {summary}")
combined = "\n".join(f"- {s}" for s in summaries)
final = llm_query("Combine these notes:\n" + combined)
print(final)
