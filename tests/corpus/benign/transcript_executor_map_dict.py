import concurrent.futures
import re

sections = {s.split("\n", 1)[0].strip("# "): s for s in re.split(r"\n(?=#)", context)}

def summarise(item):
    title, text = item
    return title, llm_query(f"Summarise {title}:\n{text[:500]}")

with concurrent.futures.ThreadPoolExecutor(max_workers=8) as ex:
    summaries = dict(ex.map(summarise, sections.items()))
for title, summary in summaries.items():
    print(f"{title:<20} {summary}")
