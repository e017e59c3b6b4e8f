"""Every kind's folder has the parts by which other rooms know it, and its record is light."""

import subprocess
import sys

from coupling_core.base.kinds import FOLDERS, kinds

PARTS = {
    "compose": ["compose"],
    "cost": ["operations", "memory"],
    "export": ["arrays", "table"],
    "views": ["dataset", "plot", "verdict"],
    "report": ["summary", "show"],
    "command": ["command"],
}
SLOW = {"torch", "transformers", "pandas", "scipy", "plotly", "typer"}
IMPORTED = f"""
import sys
from coupling_core.base.kinds import kinds
assert len(kinds()) >= {len(FOLDERS)}
print(*({SLOW} & sys.modules.keys()))
"""


def test_every_kind_has_its_parts():
    for kind in kinds().values():
        for part, names in PARTS.items():
            assert all(callable(getattr(kind.part(part), name)) for name in names), kind.name
        assert hasattr(kind.part("export"), "row") == kind.in_sweeps
        assert kind.has_k == hasattr(kind.view(), "k")


def test_to_know_the_kinds_imports_nothing_slow():
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, check=True)
    assert done.stdout.split() == []
