"""A model reads a table with pandas and draws a chart, behind the walls. It needs `pip install 'rlm-secure[data]'`.

    python examples/table_and_chart.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/table_and_chart.py    a real model

It prints:

    answer: {'month': 'March', 'units': 10}
    monthly.csv: month,units / January,7 / February,2 / March,10
    units.png: a PNG of 400 x 300 pixels
"""

from __future__ import annotations

import struct

from model import model

from rlm_secure import RLM

SALES = """\
day,region,units
2026-01-05,north,3
2026-01-20,south,4
2026-02-11,north,2
2026-03-02,north,4
2026-03-09,south,6
"""

QUESTION = """\
Write the units by month to monthly.csv (month,units), draw them as units.png, 400 x 300 pixels, and answer with the
best month, as {"month": ..., "units": ...}."""

#: What a model writes when it is asked this; the scripted backend plays it.
TURN = """I sum the units by month, draw them, and answer with the best month.

```repl
import pandas as pd
import matplotlib.pyplot as plt

sales = pd.read_csv("sales.csv", parse_dates=["day"])
sales["month"] = sales["day"].dt.month_name()
monthly = sales.groupby("month", sort=False)["units"].sum()
monthly.to_csv("monthly.csv")

fig, ax = plt.subplots(figsize=(4, 3), dpi=100)
monthly.plot.bar(ax=ax, color="tab:blue", rot=0)
ax.set_ylabel("units")
fig.savefig("units.png")

final_answer({"month": monthly.idxmax(), "units": monthly.max()})
```
"""


def main() -> None:
    with RLM(*model(turns=[TURN]), policy="data", files={"sales.csv": SALES}) as rlm:
        completion = rlm.completion(QUESTION)
    print("answer:", completion.response)
    print("monthly.csv:", " / ".join(completion.files["monthly.csv"].decode().split()))
    width, height = struct.unpack(">II", completion.files["units.png"][16:24])
    print(f"units.png: a PNG of {width} x {height} pixels")


if __name__ == "__main__":
    main()
