"""What a session with numpy, pandas and matplotlib does, wherever it runs."""

from __future__ import annotations

from typing import Any

from rlm_secure.environments.interface import Session
from rlm_secure.policy import Policy, load_policy

TABLE = """
import io
import numpy as np, pandas as pd, matplotlib.pyplot as plt
table = pd.read_csv(io.StringIO("g,x\\na,1\\nb,2\\na,3\\n"))
print(table.groupby("g").x.sum().to_dict())
figure, axes = plt.subplots()
axes.plot(table.x, label="$x^2$")
axes.legend()
drawn = io.BytesIO()
figure.savefig(drawn, format="png")
print(drawn.getvalue()[:4], np.linalg.inv(np.eye(300)).sum())
"""


def data(**limits: Any) -> Policy:
    """The shipped policy, with other limits."""
    loaded = load_policy("data")
    return loaded.model_copy(update={"limits": loaded.limits.model_copy(update=limits)})


def table_and_figure(session: Session) -> None:
    """It groups, draws and inverts."""
    result = session.execute(TABLE, lambda call: None)
    assert result.stdout == "{'a': 4, 'b': 2}\nb'\\x89PNG' 300.0\n", result.stderr
