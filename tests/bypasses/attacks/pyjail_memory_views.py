"""Views of memory, buffers and code objects: what turns a read into a write below the interpreter."""

ADVISORY = ""
GUARANTEE = "host-integrity"
ATTACKS = {
    "memoryview": """
LOOT = memoryview(b"x")
""",
    "getbuffer": """
import io
LOOT = io.BytesIO(b"x").getbuffer()
""",
    "getbuffer_by_super": """
import io
LOOT = super(io.BytesIO, io.BytesIO(b"x")).getbuffer()
""",
    "getbuffer_in_a_subclass": """
import io
class B(io.BytesIO):
    def view(self):
        return super().getbuffer()
LOOT = B(b"x").view()
""",
    "dunder_buffer": """
import io
LOOT = [memoryview, io.BytesIO(b"x").getbuffer()]
""",
    "ctypes": """
import ctypes
LOOT = ctypes.pythonapi and ctypes
""",
    "array": """
import array
LOOT = [array, array.array("b").__class__.__base__.__subclasses__()]
""",
    "code_type": """
LOOT = type((lambda: 0).__code__)
""",
    "function_type": """
LOOT = type(lambda: 0)
""",
    "cell_type": """
LOOT = type((lambda x: lambda: x)(1).__closure__[0])
""",
    "function_type_by_typing": """
import types
LOOT = types.FunctionType
""",
    "module_type": """
import types
LOOT = types.ModuleType("x")
""",
    "module_type_by_type": """
import math
LOOT = type(math)("x")
""",
    "weak_references": """
import weakref
LOOT = weakref
""",
    "garbage_collector": """
import gc
LOOT = gc.get_objects()[0], gc
""",
}
CONTROLS = {
    "getbuffer_by_super": """
import io
class BytesIO(io.BytesIO):
    def getbuffer(self):
        raise ValueError
LOOT = super(BytesIO, BytesIO(b"x")).getbuffer()
""",
}
