"""CVE-2025-9959, smolagents before 1.21: a walk over the classes of the interpreter to subprocess.Popen."""

ADVISORY = "CVE-2025-9959"
GUARANTEE = "no-reflection"
ATTACKS = {
    "popen_from_subclasses": """
LOOT = [c for c in ().__class__.__base__.__subclasses__()]
""",
    "catch_warnings_module": """
for c in ().__class__.__base__.__subclasses__():
    if c.__name__ == "catch_warnings":
        LOOT = c()._module.__builtins__
""",
    "builtin_importer": """
for c in ().__class__.__bases__[0].__subclasses__():
    if c.__name__ == "BuiltinImporter":
        LOOT = c.load_module("posix").system
""",
    "os_wrap_close": """
LOOT = [c.__init__.__globals__ for c in ().__class__.__base__.__subclasses__() if c.__name__ == "_wrap_close"]
""",
    "super_of_a_class": """
class C:
    def walk(self):
        return super().__getattribute__("__class__").__base__.__subclasses__()
LOOT = C().walk()
""",
    "walk_by_type": """
LOOT = type(type(1)).__subclasses__(type(object()))
""",
}
