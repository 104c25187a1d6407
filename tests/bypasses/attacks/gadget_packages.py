"""numpy, pandas and matplotlib did for a cell what the guards refuse it: each led to all of Python, or to memory."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "globals_of_a_compiled_method": """
import numpy as np
LOOT = np.random.default_rng(0).normal.func_globals
""",
    "code_of_a_compiled_method": """
import pandas as pd
LOOT = getattr(pd.Timestamp("2024-01-01").normalize, "func_code")
""",
    "format_of_a_tick": """
from matplotlib.ticker import StrMethodFormatter
LOOT = StrMethodFormatter("{x.__globals__[SECRET]}")(helper).replace("\u2212", "-")
""",
    "format_of_a_label_on_a_bar": """
import matplotlib.pyplot as plt
class Value(float):
    public = helper
axes = plt.figure().add_subplot()
axes.xaxis.set_major_formatter("{x.public.__globals__[SECRET]}")
LOOT = axes.xaxis.get_major_formatter()(Value(1)).replace("\u2212", "-")
""",
    "state_by_a_copy_of_attributes": """
import pandas as pd
class Taken:
    armed = False
    def __new__(cls):
        return record if Taken.armed else super().__new__(cls)
taken = Taken()
taken.public = CANARY
Taken.armed = True
frame = pd.DataFrame({"x": [1]})
frame.attrs["taken"] = taken
try:
    frame.copy()
except Exception:
    pass
LOOT = record.public
""",
    "state_by_a_copy_of_items": """
import copy
import numpy as np
class Taken:
    armed = False
    def __new__(cls):
        return record if Taken.armed else super().__new__(cls)
taken = Taken()
taken.public = CANARY
Taken.armed = True
try:
    copy.deepcopy(np.array([taken], dtype=object))
except Exception:
    pass
LOOT = record.public
""",
    "memo_of_a_copy": """
import pandas as pd
class Kept:
    def __deepcopy__(self, memo):
        memo[id(held)] = CANARY
        return self
held = [1]
frame = pd.DataFrame({"x": [1]})
frame.attrs["kept"], frame.attrs["held"] = Kept(), [record, held]
LOOT = frame.copy().attrs["held"][1]
""",
    "memory_as_a_type_of_numbers": """
import numpy as np
LOOT = np.ScalarType
""",
    "memory_of_a_file": """
import io
import matplotlib.pyplot as plt
LOOT = []
class Canvas:
    def print_figure(self, file, **options):
        LOOT.append(file.getbuffer())
figure = plt.figure()
figure.set(canvas=Canvas())
figure.savefig(io.BytesIO())
""",
    "code_named_by_a_setting": """
import matplotlib.pyplot as plt
class Code(str):
    dpi = 100
    def set_canvas(self, canvas):
        self.canvas = canvas
    def __getattr__(self, name):
        return self
    def __call__(self, *values, **options):
        return self
plt.rcParams["figure.hooks"] = ["builtins:exec"]
plt.figure(FigureClass=lambda **options: Code("import sys; sys.ran_by_a_setting = True"))
""",
}
DAMAGE = {"code_named_by_a_setting": "hasattr(sys, 'ran_by_a_setting')"}
