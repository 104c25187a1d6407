import statistics
from statistics import NormalDist

heights = [1.62, 1.75, 1.81, 1.68, 1.70, 1.75, 1.90, 1.55]
print(f"mean {statistics.mean(heights):.3f} median {statistics.median(heights):.3f} mode {statistics.mode(heights)}")
print(f"stdev {statistics.stdev(heights):.4f} variance {statistics.pvariance(heights):.5f}")
print([round(q, 3) for q in statistics.quantiles(heights, n=4)], statistics.multimode("aabbc"))
print(round(statistics.geometric_mean([1, 10, 100]), 6), round(statistics.harmonic_mean([40, 60]), 6))
x, y = [1, 2, 3, 4, 5], [2.1, 3.9, 6.2, 8.1, 9.8]
slope, intercept = statistics.linear_regression(x, y)
print(f"y = {slope:.2f}x + {intercept:.2f}, r = {statistics.correlation(x, y):.4f}")
dist = NormalDist.from_samples(heights)
print(f"{dist.mean:.3f} {dist.stdev:.3f} {dist.cdf(1.8):.3f} {NormalDist(100, 15).inv_cdf(0.98):.1f}")
try:
    statistics.mean([])
except statistics.StatisticsError as e:
    print("StatisticsError:", e)
