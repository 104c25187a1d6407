"""The ReAct agent: one tool call in each step, until the model calls `final_answer`."""
