from collections import Counter
from statistics import mean

question = "Is the disk cache mentioned as replaced? Answer yes or no."
temperatures = [0.0, 0.3, 0.7, 1.0, 1.3]
votes = []
for t in temperatures:
    reply = llm_query(f"(t={t}) {question}\n{context[:800]}")
    digits = [int(d) for d in reply if d.isdigit()]
    votes.append("yes" if sum(digits) % 2 else "no")
tally = Counter(votes)
winner, count = tally.most_common(1)[0]
confidence = count / len(votes)
print(f"votes={votes} winner={winner!r} confidence={confidence:.0%}")
if confidence < 0.8:
    evidence = [s.strip() for s in context.split(".") if "disk cache" in s]
    print("not sure; evidence in the text:", evidence[:1])
print("mean temperature", mean(temperatures))
