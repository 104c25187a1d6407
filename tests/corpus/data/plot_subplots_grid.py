import numpy as np
import matplotlib.pyplot as plt

fig, axes = plt.subplots(2, 3, figsize=(12, 6), sharex=True, constrained_layout=True)
x = np.linspace(0.1, 5, 50)
funcs = {"x": x, "x^2": x**2, "sqrt": np.sqrt(x), "log": np.log(x), "exp": np.exp(x), "1/x": 1 / x}
for ax, (name, y) in zip(axes.flat, funcs.items()):
    ax.plot(x, y)
    ax.set_title(name)
    ax.tick_params(labelsize=8)
axes[-1, -1].set_visible(False)
for ax in axes[-1]:
    ax.set_xlabel("x")
fig.supylabel("y")
fig.savefig("grid.png")
print(axes.shape, [ax.get_title() for ax in axes.ravel()], len(fig.axes), fig.get_size_inches())
