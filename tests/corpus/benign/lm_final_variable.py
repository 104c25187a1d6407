best = max(context.splitlines(), key=lambda line: line.count("="))
final_text = f"The line with the most fields: {best}"
print(final_text[:60])
print(SHOW_VARS()[:20])
