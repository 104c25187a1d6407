"""The site module leaves objects behind that lead to sys and os: license, copyright, help, exit."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "license": """
LOOT = license._Printer__setup.__globals__
""",
    "credits": """
LOOT = credits.__class__.__init__.__globals__
""",
    "copyright_filenames": """
copyright._Printer__filenames = ["/etc/passwd"]
LOOT = type(copyright).__init__.__globals__
""",
    "help": """
LOOT = help.__class__.__call__.__globals__
""",
    "exit_quitter": """
LOOT = exit.__class__.__call__.__globals__["sys"]
""",
    "quit": """
LOOT = quit.__class__.__init__.__globals__
""",
}
