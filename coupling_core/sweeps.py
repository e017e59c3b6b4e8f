"""Many models with many prompts: a door to `experiments.sweeps`."""

from coupling_core.experiments.sweeps import *  # noqa: F403
from coupling_core.experiments.sweeps import __all__  # noqa: F401
