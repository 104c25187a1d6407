import numpy as np
import matplotlib.pyplot as plt

x = np.linspace(0, 2 * np.pi, 200)
plt.figure(figsize=(8, 4))
plt.plot(x, np.sin(x), label="sin", color="tab:blue", linewidth=2)
plt.plot(x, np.cos(x), "r--", label="cos")
plt.title("Trigonometric functions")
plt.xlabel("x [rad]")
plt.ylabel("value")
plt.legend(loc="upper right")
plt.grid(True, alpha=0.3)
plt.xlim(0, 2 * np.pi)
plt.xticks([0, np.pi, 2 * np.pi], ["0", r"$\pi$", r"$2\pi$"])
plt.tight_layout()
plt.savefig("trig.png", dpi=100)
plt.show()
print("saved")
