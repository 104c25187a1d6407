questions = [
    "How many days does the log cover?",
    "Which module fails most often?",
    "Who searches most?",
]
import re
from collections import Counter

log = re.findall(r"^(\S+) \S+ (\w+) \[([\w.]+)\].*user=(\w+) action=(\w+)", context, re.M)
days = len({day for day, *_ in log})
module = Counter(m for _, level, m, *_ in log if level == "ERROR").most_common(1)[0]
searcher = Counter(u for *_, u, action in log if action == "search").most_common(1)[0]
answers = dict(zip(questions, (days, f"{module[0]} ({module[1]})", "%s (%d)" % searcher), strict=True))
width = max(map(len, questions))
for i, (q, a) in enumerate(answers.items(), start=1):
    print(f"{i}. {q:.<{width + 3}} {a}")
answer["content"] = answers
answer["ready"] = False
print(type(answer["content"]).__name__)
