import matplotlib as mpl
import matplotlib.pyplot as plt

plt.rcParams["figure.figsize"] = (6, 3)
plt.rcParams.update({"font.size": 12, "axes.grid": True, "axes.spines.top": False})
plt.rc("lines", linewidth=3)
plt.rc("font", family="serif", size=10)
mpl.rcParams["axes.titlesize"] = "large"
with plt.rc_context({"axes.facecolor": "lightyellow", "xtick.labelsize": 7}):
    fig, ax = plt.subplots()
    line, = ax.plot([1, 4, 2])
    fig.savefig("rc.png")
with mpl.rc_context({"lines.linestyle": "--"}):
    print(plt.plot([1, 2])[0].get_linestyle())
print(fig.get_figwidth(), line.get_linewidth(), ax.spines["top"].get_visible(), mpl.rcParams["font.size"])
plt.rcdefaults()
print(plt.rcParams["font.size"], plt.rcParams.get("lines.linewidth"), "figure.dpi" in plt.rcParams)
