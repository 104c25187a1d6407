import numpy as np
import matplotlib.pyplot as plt

cm = np.array([[50, 3], [7, 40]])
plt.matshow(cm, cmap=plt.cm.Blues, alpha=0.8)
for (i, j), value in np.ndenumerate(cm):
    plt.text(j, i, value, ha="center", va="center", size="xx-large")
plt.xlabel("Predicted")
plt.ylabel("Actual")
plt.title(f"Accuracy {np.trace(cm) / cm.sum():.2%}", pad=20)
plt.savefig("cm.png")
false_rate = np.linspace(0, 1, 20)
plt.figure()
plt.plot(false_rate, false_rate ** 0.4, label=f"AUC = {np.trapezoid(false_rate ** 0.4, false_rate):.3f}")
plt.plot([0, 1], [0, 1], "--", c="0.5")
plt.legend(loc=4)
plt.savefig("roc.png")
print(np.trapezoid(false_rate ** 0.4, false_rate).round(4))
