"""CVE-2023-41039, RestrictedPython before 6.2: a format string reads any attribute and item, however `format` is reached."""

ADVISORY = "CVE-2023-41039"
GUARANTEE = "no-reflection"
ATTACKS = {
    "literal": """
LOOT = "{0.__globals__}".format(helper)
""",
    "bound_method": """
f = "{0.__globals__}".format
LOOT = f(helper)
""",
    "from_the_class": """
LOOT = str.format("{0.__globals__[SECRET]}", helper)
""",
    "format_map": """
LOOT = "{h.__globals__}".format_map({"h": helper})
""",
    "format_map_from_the_class": """
LOOT = str.format_map("{h.__globals__}", {"h": helper})
""",
    "by_getattr": """
LOOT = getattr("{0.__globals__}", "for" + "mat")(helper)
""",
    "in_a_map": """
LOOT = list(map("{0.__globals__}".format, [helper]))
""",
    "class_method_in_a_map": """
LOOT = list(map(str.format, ["{0._secret}"], [record]))
""",
    "str_subclass": """
class S(str):
    pass
LOOT = S("{0._secret}").format(record)
""",
    "super_of_a_str_subclass": """
class S(str):
    def leak(self, value):
        return super().format(value)
LOOT = S("{0._secret}").leak(record)
""",
    "overridden_text": """
class S(str):
    def __str__(self):
        return "harmless"
    def __getitem__(self, at):
        return "x"
LOOT = S("{0._secret}").format(record)
""",
    "nested_in_the_spec": """
class Echo:
    def __format__(self, spec):
        return spec
LOOT = "{0:{1._secret}}".format(Echo(), record)
""",
    "behind_an_index": """
LOOT = "{0[0]._secret}".format([record])
""",
    "in_a_comprehension": """
LOOT = [t.format(record) for t in ("{0._secret}",)]
""",
    "partial": """
from functools import partial
LOOT = partial(str.format, "{0._secret}")(record)
""",
    "sorted_key": """
LOOT = []
def key(t):
    LOOT.append(t.format(record))
    return 0
sorted(["{0._secret}"], key=key)
""",
    "attribute_of_a_bound_method": """
LOOT = "{0.__func__.__globals__[SECRET]}".format(record.method)
""",
    "method_descriptor_by_getattr": """
LOOT = getattr(str, "format")("{0._secret}", record)
""",
}
