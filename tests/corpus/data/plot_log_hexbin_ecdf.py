import numpy as np
import matplotlib.pyplot as plt

rng = np.random.default_rng(2)
x, y = rng.lognormal(size=1000), rng.lognormal(size=1000)
fig, ax = plt.subplots(1, 3, figsize=(12, 3.5))
hb = ax[0].hexbin(x, y, gridsize=20, xscale="log", yscale="log", bins="log")
fig.colorbar(hb, ax=ax[0])
ax[1].ecdf(x)
ax[1].semilogx()
ax[2].loglog(np.sort(x), np.arange(1, 1001)[::-1])
ax[2].set_xlabel(r"$\log_{10}(x)$")
plt.savefig("log.png")
s = np.sort(x)
print(s[[0, 500, -1]].round(4), np.searchsorted(s, 1.0))
