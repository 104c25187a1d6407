sections = [s for s in context.split("\n\n") if s.strip()]
notes = {}
for number, section in enumerate(sections[:3]):
    title = section.strip().splitlines()[0][:30]
    notes[title] = rlm_query(f"Find the key fact in:\n{section[:400]}")
for title, note in notes.items():
    print(f"{title!r}: {note}")
