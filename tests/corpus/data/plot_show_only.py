import matplotlib.pyplot as plt

plt.plot([0, 1, 4, 9])
plt.title("Squares")
plt.show()
fig, ax = plt.subplots()
ax.bar([1, 2], [3, 4])
plt.show()
print("shown")
