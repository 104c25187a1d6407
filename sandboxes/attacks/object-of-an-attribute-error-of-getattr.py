"""Take the object out of the AttributeError of a guarded getattr.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
needs: llm_query
reference: CVE-2024-47532
"""

try:
    getattr(llm_query, "nothing")
except AttributeError as error:
    print("WON reached", sorted(error.obj.__globals__)[:3])
