"""Identifiers are normalised (NFKC) by the parser, strings are not: a filter over source text sees neither."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "attribute": """
LOOT = helper.__\uff47lobals__
""",
    "italic_attribute": """
LOOT = helper.__\U0001d454\U0001d459\U0001d45c\U0001d44f\U0001d44e\U0001d459\U0001d460__
""",
    "name": """
LOOT = \uff47\uff4c\uff4f\uff42\uff41\uff4c\uff53()["__builtins__"]
""",
    "builtin": """
LOOT = \U0001d552\U0001d567\U0001d552\U0001d55d if False else \U0001d556\U0001d567\U0001d552\U0001d55d
""",
    "private": """
LOOT = record._\uff53ecret
""",
    "pattern_keyword": """
match helper:
    case object(__\uff47lobals__=found):
        LOOT = found
""",
    "import_name": """
import \uff4f\uff53
LOOT = \uff4f\uff53
""",
    "keyword_argument": """
def f(**given):
    return getattr(helper, list(given)[0])
LOOT = f(__\uff47lobals__=1)
""",
    "class_attribute": """
class C:
    __\uff47etattribute__ = lambda self, name: CANARY
LOOT = C().anything
""",
}
