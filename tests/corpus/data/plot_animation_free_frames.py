import numpy as np
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
line, = ax.plot([], [])
ax.set_xlim(0, 1)
ax.set_ylim(-1, 1)
x = np.linspace(0, 1, 50)
for frame in range(3):
    line.set_data(x, np.sin(2 * np.pi * (x + frame / 3)))
    ax.set_title(f"frame {frame}")
    fig.savefig(f"frame_{frame:02d}.png", dpi=50)
line.set_color("C3")
line.set(linewidth=2, label="wave")
ax.relim()
ax.autoscale_view()
print(line.get_label(), line.get_ydata()[0].round(4))
