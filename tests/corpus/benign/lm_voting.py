from collections import Counter
prompts = ["Is the service healthy? yes/no"] * 5
votes = Counter(reply.strip().lower() for reply in llm_query_batched(prompts))
winner, n = votes.most_common(1)[0]
print(f"{n}/{len(prompts)}", winner[:40])
