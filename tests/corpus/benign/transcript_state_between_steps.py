# Keep a scratchpad so that later steps can build on it.
if "scratchpad" not in globals():
    scratchpad = {}

def remember(key, value):
    scratchpad.setdefault(key, []).append(value)
    return value

for position, char in enumerate(context):
    if char == "#" and (position == 0 or context[position - 1] == "\n"):
        end = context.find("\n", position)
        remember("headings", context[position:end if end != -1 else None])

remember("size", len(context))
remember("mails", context.count("@"))
for key, values in scratchpad.items():
    print(f"{key}: {values if len(str(values)) < 60 else str(values)[:57] + '...'}")
print("scratchpad" in globals(), "remember" in globals(), "nothing_like_it" in globals())
