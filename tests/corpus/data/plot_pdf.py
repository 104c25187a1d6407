import matplotlib.pyplot as plt

plt.plot([1, 2, 3])
plt.title("report")
plt.savefig("report.pdf")
print("ok")
