import textwrap

paragraphs = [p.replace("\n", " ").strip() for p in context.split("\n\n") if p and not p.startswith(("#", "2024"))]
quotes = {}
for number, paragraph in enumerate(paragraphs, 1):
    quotes[f"Q{number}"] = paragraph
for label, quote in quotes.items():
    body = textwrap.fill(quote, width=60, initial_indent=f"[{label}] ", subsequent_indent="     ")
    print(body)
prompt = "Answer with the label of the quote that names the disk cache.\n\n" + "\n".join(f"{k}: {v}" for k, v in quotes.items())
reply = llm_query(prompt)
label = next((k for k in quotes if k in reply), None) or next(k for k, v in quotes.items() if "cache" in v)
print("label:", label)
