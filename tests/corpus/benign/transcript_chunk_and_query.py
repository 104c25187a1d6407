# The context is too long for one call, so I split it on the block headings and ask about each part.
import re

sections = re.split(r"(?m)^#+ ", context)
sections = [s.strip() for s in sections if s.strip()]
print(f"{len(sections)} sections")

notes = []
for i, section in enumerate(sections):
    title, _, body = section.partition("\n")
    prompt = f"Summarise section {title!r} in one sentence:\n\n{body[:1500]}"
    try:
        reply = llm_query(prompt)
    except Exception as e:
        reply = f"(failed: {type(e).__name__}: {e})"
    notes.append({"index": i, "title": title, "chars": len(body), "reply": reply})

for note in notes:
    print("[{index}] {title:<20} {chars:>6} -> {reply}".format(**note))

combined = "\n".join(f"- {n['title']}: {n['reply']}" for n in notes)
final = llm_query("Combine these notes into a paragraph:\n" + combined)
print(final)
