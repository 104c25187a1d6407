import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("iris.csv")
groups = [g["sepal_length"].values for _, g in df.groupby("species")]
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
box = axes[0].boxplot(groups, tick_labels=sorted(df["species"].unique()), patch_artist=True, showmeans=True, notch=False)
for patch, color in zip(box["boxes"], ["pink", "lightblue", "lightgreen"]):
    patch.set_facecolor(color)
for median in box["medians"]:
    median.set_color("black")
parts = axes[1].violinplot(groups, showmedians=True)
for body in parts["bodies"]:
    body.set_alpha(0.5)
axes[1].set_xticks([1, 2, 3], labels=["se", "ve", "vi"])
fig.savefig("box.png")
print(sorted(box), [m.get_ydata().round(2).tolist() for m in box["medians"]], sorted(parts))
