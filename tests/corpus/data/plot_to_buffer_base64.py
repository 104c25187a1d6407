import base64
import io
import matplotlib.pyplot as plt

fig = plt.figure()
plt.plot([1, 2, 3], [4, 5, 6])
buf = io.BytesIO()
fig.savefig(buf, format="png")
buf.seek(0)
data = base64.b64encode(buf.read()).decode("ascii")
print(data[:12], len(data) > 1000)
svg = io.StringIO()
fig.savefig(svg, format="svg")
print(svg.getvalue()[:38])
plt.close()
