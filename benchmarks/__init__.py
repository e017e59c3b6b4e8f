"""What is claimed of the engine's speed, memory and accuracy: one script a claim.

    make bench                           all of them, and the table of docs/performance.md
    coupling bench [NAME] [--quick]      all or one of them; quick is a smoke test on a tiny model

Each script has two functions: `collect(quick)` gives results as JSON takes them (None, after a
plain line, where this machine cannot), and `summary(results)` the rows that are printed of them.
`common` holds what they share, and `readme` draws ten of the rows in docs/performance.md.
`families` and `matrix` are other things: the one writes down how a run of the tests fared, the
other compares every architecture of the library (`architectures`) with the definition
(`definition`).
"""

import os

# Before torch is imported: threads that spin while they wait count as CPU time, and on a machine
# that others use they starve each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

SCRIPTS = (
    "depth",
    "jacobian",
    "svd",
    "tokens",
    "growth",
    "cost",
    "limits",
    "streaming",
    "startup",
    "minute",
    "fresh",
    "many",
    "training",
    "load",
    "crowd",
    "sweeps",
    "paths",
    "whatif",
    "directions",
    "vision",
    "gpu",
)
"""In the order in which they run."""
