"""Ask for ever more in a control group of a limited size, as in a container.

Arguments are the folder of the group, a store, and "bounded", or "admitted" where what does not fit
is refused beforehand, as the app does. Printed are the keys of what is stored and why the rest
failed, as JSON.
"""

import json
import os
import sys
from pathlib import Path

CASES = tuple(
    {"k": k, **kind}
    for kind in ({}, {"kind": "self", "block": 15}, {"kind": "fixed-output", "block": 15})
    for k in (8, 64, 256)
)
TOKENS = 40


def main(group: Path, store: str, way: str) -> None:
    """Ask in turn, of one worker."""
    (group / "cgroup.procs").write_text(str(os.getpid()))
    from coupling_core import CouplingError, Request, Store, measure
    from coupling_core.measuring.worker import Worker
    from explorer.server.admission import measure_what_fits

    worker, shelf, prompt = Worker(), Store(Path(store)), tuple(range(100, 100 + TOKENS))
    told = []
    for case in CASES:
        try:
            by = measure if way == "bounded" else measure_what_fits
            result = worker.measure(Request(prompt, "smollm2-135m", **case), shelf, by=by)
            told.append({"key": result.key})
        except CouplingError as error:
            told.append({"why": str(error)})
    worker.close()
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
