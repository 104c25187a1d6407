"""Ask the model for ever; each question is quickly answered.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
needs: llm_query
"""

while True:
    try:
        llm_query("are we there yet?")
    except Exception:
        pass
