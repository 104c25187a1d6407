"""CVE-2025-24359, asteval before 1.0.6: the value of an f-string field is formatted by str.format, and its text is read as
a template again.
"""

ADVISORY = "CVE-2025-24359"
GUARANTEE = "no-reflection"
ATTACKS = {
    "spec_from_a_variable": """
spec = "{x._secret}"
class V:
    def __format__(self, s):
        return s.format(x=record)
LOOT = f"{V():{spec}}"
""",
    "nested_fstring": """
LOOT = f"{f'{record._secret}'}"
""",
    "conversion": """
class V:
    def __repr__(self):
        return record._secret
LOOT = f"{V()!r}"
""",
    "lambda_in_a_field": """
LOOT = f"{(lambda r: r._secret)(record)}"
""",
    "walrus_in_a_field": """
f"{(_getattr_ := vars(record))}"
LOOT = _getattr_
""",
    "dunder_in_the_spec": """
LOOT = f"{'x':{record._secret}>3}" if False else f"{record._secret:>3}"
""",
    "format_builtin": """
class V:
    def __format__(self, spec):
        return getattr(record, spec)
LOOT = format(V(), "_secret")
""",
}
