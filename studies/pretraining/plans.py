"""What each suite is trained with."""

from dataclasses import replace

from coupling_core.base.choosing import require_one_of
from coupling_core.experiments.pretraining.plan import Plan
from coupling_core.sources.suites import SEEDS, seeded

_OF_SEED_0 = (
    Plan("mini-64", 64, 3e-3),
    Plan("mini-64-sd", 64, 3e-3, drop_path=0.3),
    Plan("mini-128", 128, 2e-3),
)
PLANS = {
    name: replace(first, name=name, seed=seed)
    for seed in SEEDS
    for first in _OF_SEED_0
    for name in [seeded(first.name, seed)]
}
"""By the name of the suite."""


def find_plan(name: str) -> Plan:
    """The plan of a suite."""
    require_one_of("a suite with a recipe", name, PLANS)
    return PLANS[name]
