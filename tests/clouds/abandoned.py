"""A host that opens a session in a cloud, says so, and then ends as it is told: a program for test_lifecycle."""

from __future__ import annotations

import json
import sys
import threading
import time

from rlm_secure.environments.registry import create_environment
from rlm_secure.sandbox import Sandbox


def main() -> None:
    name, options, how = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
    sandbox = Sandbox(environment=name, environment_kwargs=options)
    if how == "beside":
        threading.Thread(target=sandbox.run, args=("x = 1",), daemon=True).start()
    if how in ("beside", "create"):
        print("open", flush=True)
    if how == "beside":
        sys.stdin.readline()
        return
    sandbox.run("x = 1").check()
    print("open", flush=True)
    if how == "exit":
        return
    if how == "raise":
        raise RuntimeError("as told")
    if how == "sweep":
        sys.stdin.readline()
        print(create_environment(name, **options).sweep(), sandbox.run("print(x)").stdout.strip(), flush=True)
        return
    if how == "cell":
        sandbox.run("import time\nwhile True: time.sleep(1)")
    time.sleep(60)


if __name__ == "__main__":
    main()
