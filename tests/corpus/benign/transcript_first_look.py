# Let me start by looking at the context to understand its structure.
print(f"Type: {type(context).__name__}")
print(f"Length: {len(context):,} characters")
lines = context.split("\n")
print(f"Lines: {len(lines):,}")
print("-" * 40)
for i, line in enumerate(lines[:8], start=1):
    print(f"{i:>3} | {line[:70]}{'...' if len(line) > 70 else ''}")
print("-" * 40)
longest = max(lines, key=len)
blank = sum(1 for line in lines if not line.strip())
print(f"longest line: {len(longest)} chars; blank lines: {blank} ({blank / len(lines):.1%})")
headings = [line for line in lines if line.startswith("#")]
print(f"{len(headings)} headings:", *headings, sep="\n  ")
