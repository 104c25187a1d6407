import re
from collections import Counter, defaultdict
from datetime import datetime

chat = """[09:00] ana: morning! did the import finish?
[09:02] ben: yes, but 3 rows failed :(
[09:02] ana: which ones?
[09:05] ben: 17, 204 and 951
they have no date
[09:20] cleo: I can fix that :)
[10:45] ana: thanks @cleo, @ben please rerun
[10:47] ben: done :)"""

messages = []
for line in chat.splitlines():
    if m := re.match(r"\[(\d\d:\d\d)\] (\w+): (.*)", line):
        messages.append({"at": datetime.strptime(m[1], "%H:%M"), "who": m[2], "text": m[3]})
    else:
        messages[-1]["text"] += "\n" + line
by = defaultdict(list)
for m in messages:
    by[m["who"]].append(m)
for who, ms in by.items():
    words = sum(len(m["text"].split()) for m in ms)
    print(f"{who:<5}{len(ms)} messages, {words} words, {sum('?' in m['text'] for m in ms)} questions")
gaps = [((b["at"] - a["at"]).seconds // 60, a["who"], b["who"]) for a, b in zip(messages, messages[1:])]
print("longest pause:", max(gaps), "| replies:", Counter((a, b) for _, a, b in gaps if a != b).most_common(1))
print(Counter(re.findall(r":[()]", chat)), re.findall(r"@(\w+)", chat), sum(map(int, re.findall(r"\b\d+\b(?!\])", messages[3]["text"]))))
