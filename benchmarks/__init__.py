"""What is claimed of the engine's speed and accuracy: one script a claim.

    make bench                           all of them, and the table of docs/performance.md
    coupling bench [NAME] [--quick]      all or one of them; quick is a smoke test on a tiny model

`collect(quick)` of a script gives results as JSON takes them, or raises `LackingError` where this
machine cannot, and `summary(results)` gives the rows that are printed of them.

The scripts share `common` and `served` (the app and a browser); `readme` puts some of their rows
into docs/performance.md. `families` and `matrix` are of `make families`: how a run of the tests
fared, and every architecture of the library (`architectures`) against the definition
(`definition`). `sentences` counts how often sentences are false (`judges`) in planted `worlds`.
What these write into pages, `drawn` puts between two lines of them.
"""

import os

# Before torch is imported: threads that spin while they wait count as CPU time, and on a machine
# that others use they starve each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

SCRIPTS = ("depth", "jacobian", "svd", "cost", "limits", "minute", "many", "crowd", "gpu")
"""In the order in which they run."""
