"""What the pages share: state and links, the shell, panels and exports."""

import os
from importlib import import_module

from coupling_core.base.kinds import FOLDERS

# Read by OpenMP when torch is imported. Threads that spin while they wait are faster on an idle
# machine, but browsers and other visitors want the cores too, and then spinning is far slower.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Whole packages, before a page asks for a part of one: where two visitors' threads import a package
# and a module of it at once, each waits for the other, and Python shows one of them half of it.
for _package in (
    *FOLDERS,
    "coupling_core.analysis.exports",
    "coupling_core.figures",
    "coupling_core.sources.hub",
):
    import_module(_package)
