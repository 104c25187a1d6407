"""CVE-2023-39662 and CVE-2024-3098, LlamaIndex' PandasQueryEngine: `safe_eval` refuses names with underscores in the
source, and hands the rest to exec with pandas in reach. PandasAI the same (CVE-2023-39661).
"""

ADVISORY = "CVE-2024-3098"
GUARANTEE = "no-reflection"
ATTACKS = {
    "escape_in_a_string": r"""
LOOT = getattr(helper, "\x5f\x5fglobals\x5f\x5f")
""",
    "chr": """
LOOT = getattr(helper, chr(95) * 2 + "globals" + chr(95) * 2)
""",
    "named_escape": r"""
LOOT = getattr(helper, "\N{LOW LINE}\N{LOW LINE}globals\N{LOW LINE}\N{LOW LINE}")
""",
    "percent_format": """
LOOT = getattr(helper, "%sglobals%s" % ("__", "__"))
""",
    "from_a_docstring": """
def f():
    "_"
LOOT = getattr(helper, f.__doc__ * 2 + "globals" + f.__doc__ * 2)
""",
    "bytes_from_hex": """
LOOT = getattr(helper, bytes.fromhex("5f5f676c6f62616c735f5f").decode())
""",
    "base64": """
import base64
LOOT = getattr(helper, base64.b64decode("X19nbG9iYWxzX18=").decode())
""",
    "dir_lookup": """
LOOT = [getattr(helper, n) for n in dir(helper) if "globals" in n][0]
""",
    "pandas_eval": """
import pandas as pd
LOOT = pd.io.common.os.system
""",
}
CONTROLS = {
    "pandas_eval": """
import uuid as pd
LOOT = pd.os.system
""",
}
