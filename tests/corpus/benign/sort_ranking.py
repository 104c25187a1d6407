scores = {"ann": 90, "bob": 85, "cid": 90, "dee": 70}
ranked = sorted(scores.items(), key=lambda kv: (-kv[1], kv[0]))
rank, previous = 0, None
for position, (name, score) in enumerate(ranked, 1):
    if score != previous:
        rank, previous = position, score
    print(f"{rank}. {name:<5} {score}")
print(dict(zip(scores, sorted(scores.values()))))
