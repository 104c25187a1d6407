"""Print for ever, past any cap.

guarantee: bounded-time
layer: both
wins: outlasts
"""

while True:
    print("x" * 1000)
