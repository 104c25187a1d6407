import random
import statistics as st

random.seed(314)
control = [12.1, 11.8, 13.0, 12.4, 12.9, 11.5, 12.2, 12.7]
variant = [12.9, 13.4, 12.8, 13.9, 13.1, 12.5, 14.0, 13.3]


def bootstrap(data, statistic=st.mean, n=1000, level=0.95):
    values = sorted(statistic(random.choices(data, k=len(data))) for _ in range(n))
    tail = (1 - level) / 2
    return values[int(tail * n)], values[int((1 - tail) * n) - 1]


def permutation_test(a, b, n=2000):
    observed = st.mean(b) - st.mean(a)
    pool, extreme = a + b, 0
    for _ in range(n):
        random.shuffle(pool)
        extreme += abs(st.mean(pool[len(a):]) - st.mean(pool[:len(a)])) >= abs(observed) - 1e-12
    return observed, (extreme + 1) / (n + 1)


for name, data in (("control", control), ("variant", variant)):
    low, high = bootstrap(data)
    print(f"{name}: mean {st.mean(data):.3f} [{low:.3f}, {high:.3f}], median {st.median(data):.2f}, sd {st.stdev(data):.3f}")
difference, p = permutation_test(control, variant)
print(f"difference {difference:.3f}, p = {p:.4f}, {'significant' if p < 0.05 else 'not significant'}")
pooled = ((st.variance(control) + st.variance(variant)) / 2) ** 0.5
print(f"Cohen's d = {difference / pooled:.2f}")
ranks = {v: i for i, v in enumerate(sorted(control + variant), 1)}
print("rank sums", sum(ranks[v] for v in control), sum(ranks[v] for v in variant))
