"""What the pages share: state and links, the shell, panels and exports."""

import os

# Read by OpenMP when torch is imported. Threads that spin while they wait are faster on an idle
# machine, but browsers and other visitors want the cores too, and then spinning is far slower.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
