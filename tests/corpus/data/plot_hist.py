import numpy as np
import matplotlib.pyplot as plt

data = np.random.default_rng(0).normal(100, 15, 1000)
n, bins, patches = plt.hist(data, bins=20, density=True, alpha=0.6, color="g", edgecolor="white")
mu, sigma = data.mean(), data.std()
x = np.linspace(bins[0], bins[-1], 100)
plt.plot(x, np.exp(-((x - mu) ** 2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi)), "r-", lw=2)
plt.axvline(mu, color="k", linestyle="dashed", linewidth=1, label=f"mean {mu:.1f}")
plt.legend()
plt.title(r"$\mu=%.1f,\ \sigma=%.1f$" % (mu, sigma))
for patch, h in zip(patches, n):
    if h > 0.02:
        patch.set_facecolor("orange")
plt.savefig("hist.png", dpi=72)
print(n.round(4)[:5], bins.round(2)[:3], len(patches))
