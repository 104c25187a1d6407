import matplotlib
import matplotlib.pyplot as plt

print("ggplot" in plt.style.available, matplotlib.get_backend().lower() == "agg")
for name in ("ggplot", "seaborn-v0_8-whitegrid", "dark_background"):
    with plt.style.context(name):
        fig, ax = plt.subplots(figsize=(3, 2))
        ax.plot([1, 2, 3])
        fig.savefig(f"{name}.png")
        plt.close(fig)
plt.style.use("fivethirtyeight")
plt.plot([3, 1, 2])
plt.savefig("after.png")
plt.style.use("default")
print(plt.rcParams["lines.linewidth"], plt.rcParamsDefault["figure.dpi"])
