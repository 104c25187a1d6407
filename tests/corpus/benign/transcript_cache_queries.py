from functools import lru_cache

asked = []

@lru_cache(maxsize=None)
def cached_query(prompt: str) -> str:
    asked.append(prompt)
    return llm_query(prompt)

questions = ["Who is affected?", "What failed?", "Who is affected?", "When?", "What failed?"]
for q in questions:
    print(f"{q:<18} {cached_query(q + chr(10) + context[:200])}")
info = cached_query.cache_info()
print(f"hits={info.hits} misses={info.misses} size={info.currsize} asked={len(asked)}")
print(info)
cached_query.cache_clear()
print(cached_query.cache_info())
