links = {"A": ["B", "C"], "B": ["C"], "C": ["A"], "D": ["C"], "E": []}


def pagerank(links, damping=0.85, tolerance=1e-10):
    n = len(links)
    rank = {page: 1 / n for page in links}
    for iteration in range(1, 1000):
        loose = sum(rank[p] for p, out in links.items() if not out)
        new = {p: (1 - damping) / n + damping * loose / n for p in links}
        for page, out in links.items():
            for target in out:
                new[target] += damping * rank[page] / len(out)
        delta = sum(abs(new[p] - rank[p]) for p in links)
        rank = new
        if delta < tolerance:
            break
    return rank, iteration


rank, iterations = pagerank(links)
for page, value in sorted(rank.items(), key=lambda kv: kv[1], reverse=True):
    print(page, f"{value:.4f}", "#" * round(value * 50))
print(iterations < 1000, round(sum(rank.values()), 9))
incoming = {p: sorted(q for q in links if p in links[q]) for p in links}
incoming
print(incoming, {p for p in incoming if not incoming[p]} == {"D", "E"})
