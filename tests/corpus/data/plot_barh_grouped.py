import numpy as np
import matplotlib.pyplot as plt

labels = ["A", "B", "C"]
men, women = [20, 34, 30], [25, 32, 34]
y = np.arange(len(labels))
fig, (ax1, ax2) = plt.subplots(1, 2, figsize=(10, 4))
ax1.bar(y - 0.2, men, 0.4, label="men")
ax1.bar(y + 0.2, women, 0.4, label="women", hatch="//")
ax1.set_xticks(y)
ax1.set_xticklabels(labels)
ax1.legend(title="group", frameon=False)
ax2.barh(labels, men, xerr=[1, 2, 3], capsize=4)
ax2.barh(labels, women, left=men, alpha=0.7)
ax2.invert_yaxis()
ax2.axvline(30, color="k", ls=":")
fig.suptitle("Scores")
fig.tight_layout(rect=[0, 0, 1, 0.95])
plt.savefig("grouped.png")
print([t.get_text() for t in ax1.get_xticklabels()], ax1.get_legend().get_title().get_text(), ax2.yaxis_inverted())
