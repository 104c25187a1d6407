import numpy as np
import matplotlib.pyplot as plt

x = np.arange(1, 11)
rng = np.random.default_rng(1)
samples = rng.normal(np.sqrt(x), 0.3, (30, 10))
mean, sd = samples.mean(axis=0), samples.std(axis=0)
fig, (a, b) = plt.subplots(2, 1, figsize=(6, 6))
a.fill_between(x, mean - sd, mean + sd, alpha=0.2, label="±1 sd")
a.plot(x, mean, "o-")
a.legend()
container = b.errorbar(x, mean, yerr=sd, fmt="o", capsize=3, ecolor="gray")
b.set_xscale("log")
b.set_yscale("symlog")
b.minorticks_on()
b.grid(which="both", ls=":")
fig.savefig("error.png")
print(mean.round(3), type(container).__name__, b.get_xscale(), len(container))
