import pandas as pd
import matplotlib.pyplot as plt

counts = pd.read_csv("sales.csv")["product"].value_counts()
fig, ax = plt.subplots(figsize=(5, 5))
wedges, texts, autotexts = ax.pie(counts, labels=counts.index, autopct="%1.1f%%", startangle=90, explode=[0.1] + [0] * (len(counts) - 1), shadow=True, colors=plt.cm.Set3.colors, wedgeprops={"edgecolor": "w"})
for t in autotexts:
    t.set_fontsize(8)
ax.axis("equal")
ax.set_title("Products")
plt.savefig("pie.png")
print([t.get_text() for t in texts], [t.get_text() for t in autotexts])
