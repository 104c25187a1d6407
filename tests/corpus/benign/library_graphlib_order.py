from graphlib import TopologicalSorter, CycleError

tasks = {"deploy": {"test", "build"}, "test": {"build"}, "build": {"fetch"}, "docs": {"build"}}
order = list(TopologicalSorter(tasks).static_order())
print(order[:2], order.index("build") < order.index("deploy"), len(order))
sorter = TopologicalSorter(tasks)
sorter.prepare()
step = 1
while sorter.is_active():
    ready = sorted(sorter.get_ready())
    print(f"step {step}: {', '.join(ready)}")
    sorter.done(*ready)
    step += 1
tasks["fetch"] = {"deploy"}
try:
    list(TopologicalSorter(tasks).static_order())
except CycleError as e:
    print("cycle of", len(e.args[1]) - 1)
