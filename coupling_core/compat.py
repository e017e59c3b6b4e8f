"""The functions of the package that the papers' authors released: a door to `measuring.compat`."""

from coupling_core.measuring.compat import (
    KS,
    PromptCoupling,
    coupling_from_hooks,
    run_coupling_hf,
)

__all__ = [
    "KS",
    "PromptCoupling",
    "coupling_from_hooks",
    "run_coupling_hf",
]
