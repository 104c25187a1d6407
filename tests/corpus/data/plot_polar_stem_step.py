import numpy as np
import matplotlib.pyplot as plt

fig = plt.figure(figsize=(9, 3))
polar = plt.subplot(131, projection="polar")
theta = np.linspace(0, 2 * np.pi, 100)
polar.plot(theta, 1 + np.cos(theta))
polar.set_rmax(2)
ax = plt.subplot(1, 3, 2)
ax.stem([1, 2, 3], [3, 1, 2])
ax = plt.subplot(1, 3, 3)
ax.step([1, 2, 3], [3, 1, 2], where="mid")
ax.stackplot([1, 2, 3], [1, 1, 1], [1, 2, 1], labels=["a", "b"])
plt.subplots_adjust(wspace=0.4)
plt.savefig("polar.png")
print(polar.name, len(fig.axes))
