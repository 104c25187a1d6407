"""Questions over a table: a model writes code, which is checked, mended and run on a copy of the table in the sandbox.

    python examples/ask_a_table.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/ask_a_table.py    a real model

The first code sorts a column in place, which a question that only reads must not do: the model reads why, and writes
another. The second question is an edit: the changed copy comes back, with what differs.

It prints:

    plan_code: read_mutation
    plan_retry: accepted
    North; the table is as it was: True
    1 price was missing; 1 cell changed
    row 1, price: None -> 4.5
"""

from __future__ import annotations

from model import model

from rlm_secure.agents import CodegenPipeline, Table

ORDERS = Table(
    {
        "region": ["North", "South", "North"],
        "price": [10.0, None, 7.5],
    }
)

#: What a model writes when it is asked; the scripted backend plays it.
SORTS = """```python
columns["region"].sort()
result = columns["region"][0]
```"""
SUMS = """```python
sums = {}
for region, price in zip(columns["region"], columns["price"]):
    sums[region] = sums.get(region, 0) + (price or 0)
result = max(sums, key=sums.get)
```"""
FILLS = """```python
missing = [row for row, price in enumerate(columns["price"]) if price is None]
for row in missing:
    columns["price"][row] = 4.5
result = f"{len(missing)} price was missing"
```"""


def main() -> None:
    pipeline = CodegenPipeline(*model(turns=[SORTS, SUMS]), slots=False)
    read = pipeline.run(ORDERS, "Which region has the most sales?", mode="read")
    for attempt in read.attempts:
        print(f"{attempt.stage}: {attempt.reason or 'accepted'}")
    assert read.evidence is not None
    print(f"{read.answer}; the table is as it was: {read.evidence.equal}")

    pipeline = CodegenPipeline(*model(turns=[FILLS]), slots=False)
    edit = pipeline.run(ORDERS, "Set missing prices to 4.5.", mode="edit")
    assert edit.diff is not None
    print(f"{edit.answer}; {edit.diff.summary()}")
    for change in edit.diff.changes:
        print(f"row {change.row}, {change.column}: {change.before} -> {change.after}")


if __name__ == "__main__":
    main()
