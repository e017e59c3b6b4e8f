"""Perturbation: noise on a token's embedding, and how far the linear blocks predict it."""

from coupling_core.base.kinds import KindOfResult
from coupling_core.base.records import AnyView
from coupling_core.base.results import PerturbationResult

KINDS = (KindOfResult("perturbation", __name__, PerturbationResult, AnyView, token="measured"),)
