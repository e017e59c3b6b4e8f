"""The vision transformers that come with the program: one architecture, several rates and seeds.

suite        what they are, and their accuracies
findings     stochastic depth, coupling and accuracy over the runs
rates        what the rate does to a number of the runs

`studies/vision` trains them.
"""

from coupling_core.experiments.vision.suite import (
    ACCURACY,
    SUITE,
    VisionRun,
    VisionSuite,
    repo_name,
)

__all__ = ["ACCURACY", "SUITE", "VisionRun", "VisionSuite", "repo_name"]
