"""Replace the answer by something that writes itself, for the cells after it.

guarantee: host-integrity
layer: both
wins: prints
outcome: harmless
needs: answer
"""

class Made(dict):
    def __setitem__(self, name, value):
        dict.__setitem__(self, name, "WON forged answer")

answer = Made(content="", ready=False)
# next cell
answer["content"] = "true"
answer["ready"] = True
print(answer["content"])
