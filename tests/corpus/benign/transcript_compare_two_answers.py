import difflib
import re

draft = llm_query("Draft an answer: who should be told?\n" + context[:500])
review = llm_query("Review this draft, keep it short:\n" + draft)
print("draft :", draft)
print("review:", review)
ratio = difflib.SequenceMatcher(None, draft, review).ratio()
print("similar" if ratio > 0.6 else "different", 0 <= ratio <= 1)
numbers = {"draft": re.findall(r"\d+", draft), "review": re.findall(r"\d+", review)}
print(numbers)
diff = [d for d in difflib.ndiff(draft.split(), review.split()) if d[0] in "+-"]
print(len(diff) > 0, diff[:2])
