"""Transformer block coupling: how far a transformer's linearised blocks act in one common basis.

The rooms, from the ground up; a room imports those above it in this list, and `engine`, `store` and
`figures` do not know one another:

    base            what all stand on
    sources         which model, which prompt, and where they come from
    analysis        numbers from stored results
    engine          from a model and a prompt to numbers: all that needs torch
    store           results on a disk
    figures         a record in, a plotly Figure out
    measuring       the front door: a request in, a result out
    experiments     many measurements, or the training of models to be measured
    serving         several people and one machine
    cli             the command line
    kinds           what is special to a kind of result, a folder each; the rooms above know of it
                    by `base.kinds` alone

A measurement passes through them so:

    sources -> engine.loading -> engine.jacobians -> engine.pairs -> store -> analysis -> figures

`measure` is the front door, and for many models `sweeps.read`, `sweeps.make` and `sweeps.run` are;
`reference` holds the slow, obvious version of each stage, and `compat` the two functions of the
package that the papers' authors released. Each name is imported where it is first used, so
that a stored result is read without torch, and Ctrl-C meets a command before it computes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coupling_core import sweeps
    from coupling_core.analysis.by_step import Course, StepNumbers, numbers
    from coupling_core.analysis.compare import Comparison, Summary, TokenComparison, compare
    from coupling_core.analysis.comparing_models import compare_models
    from coupling_core.analysis.coupling_effect import CouplingEffect, coupling_effect
    from coupling_core.analysis.crossing import Crossing, CrossScores, cross
    from coupling_core.analysis.directions import (
        BetweenPrompts,
        Shared,
        between_prompts,
        shared_of,
    )
    from coupling_core.analysis.effects import EffectMaps, effect_maps
    from coupling_core.analysis.findings import Findings, Question, find
    from coupling_core.analysis.graph import communities, graph_edges, layer_graph, modularity
    from coupling_core.analysis.locality import ByDistance, Locality, by_distance, locality
    from coupling_core.analysis.model_comparison import ModelComparison
    from coupling_core.analysis.path_comparison import PathComparison
    from coupling_core.analysis.perturbation import perturbation_radius
    from coupling_core.analysis.projection import ProjectedPaths, project_paths
    from coupling_core.analysis.scores import (
        Interval,
        chance_floor,
        corrected,
        mean_interval,
        mean_off_diagonal,
        score_by_k,
        score_pairs,
    )
    from coupling_core.analysis.spectra import effective_rank, participation_ratio
    from coupling_core.analysis.statistics.by_group import means_by
    from coupling_core.analysis.token_scores import score_positions
    from coupling_core.analysis.trajectory import (
        equidistance,
        expodistance,
        growth_rates,
        line_shape,
        windowed_line_shape,
    )
    from coupling_core.base.definitions import DEFINITIONS, DefinitionName
    from coupling_core.base.drawing import Drawing
    from coupling_core.base.edits import Edit
    from coupling_core.base.errors import Cancelled, ComputeError, CouplingError, InputError
    from coupling_core.base.jacobian import BlockJacobian
    from coupling_core.base.records import (
        Certificate,
        DirectionsView,
        EffectView,
        Kind,
        PathView,
        Request,
        View,
        parse_blocks,
    )
    from coupling_core.base.results import (
        DepthResult,
        DirectionsResult,
        Means,
        PairScores,
        PerturbationResult,
        PositionScores,
        Progress,
        Result,
        Scores,
        SpectrumResult,
        TokenMeansResult,
        TokensResult,
        TrajectoryResult,
        WhatIfResult,
    )
    from coupling_core.base.trials import Ablation, Readings, Steering
    from coupling_core.engine.edits.edited import edited
    from coupling_core.engine.loading.wrapped import wrap
    from coupling_core.engine.penalty import CouplingPenalty, coupling_penalty
    from coupling_core.experiments.many import measure_many
    from coupling_core.experiments.pruning.door import prune
    from coupling_core.experiments.pruning.plan import Pruning
    from coupling_core.experiments.steps import collect, measure_steps
    from coupling_core.experiments.watching.callback import CouplingCallback
    from coupling_core.measuring.front import measure
    from coupling_core.measuring.model_copy import load_model
    from coupling_core.measuring.one_jacobian import jacobian
    from coupling_core.measuring.recheck import Recheck, recheck
    from coupling_core.measuring.trying import ablate, cross_scores, read_out, steer
    from coupling_core.sources.prompts import PromptSource
    from coupling_core.sources.suites import Suite, find_suite
    from coupling_core.store.disk import Store
    from coupling_core.store.result_file import load

__all__ = [  # noqa: RUF022 - by stage, not by name
    # what goes in, and what comes out
    "Request",
    "Kind",
    "Result",
    "DepthResult",
    "TokensResult",
    "TokenComparison",
    "TokenMeansResult",
    "Certificate",
    "Progress",
    "measure",
    "jacobian",
    "BlockJacobian",
    # a model as a module of one's own, and a module that is no model of transformers
    "load_model",
    "wrap",
    # where it is kept, and whether it can be believed later
    "Store",
    "load",
    "recheck",
    "Recheck",
    # how it is looked at
    "DEFINITIONS",
    "DefinitionName",
    "View",
    "Scores",
    "Means",
    "PairScores",
    "Drawing",
    "score_pairs",
    "score_by_k",
    "chance_floor",
    "corrected",
    "mean_off_diagonal",
    "parse_blocks",
    "Interval",
    "mean_interval",
    # the blocks as a graph, and two results side by side
    "layer_graph",
    "graph_edges",
    "communities",
    "modularity",
    "locality",
    "compare",
    "Comparison",
    "PathComparison",
    "Summary",
    # tokens: the Jacobians of two blocks, compared across the positions of a prompt
    "PositionScores",
    "score_positions",
    "by_distance",
    # trajectories: the path of each token through the blocks
    "TrajectoryResult",
    "PathView",
    "ProjectedPaths",
    "project_paths",
    "line_shape",
    "windowed_line_shape",
    "growth_rates",
    "expodistance",
    "equidistance",
    # what if: the model's depth edited
    "edited",
    "Edit",
    "WhatIfResult",
    "EffectView",
    "effect_maps",
    "EffectMaps",
    "coupling_effect",
    "CouplingEffect",
    # spectra: eigenvalues of each block's linear map, and products over depth
    "SpectrumResult",
    "PerturbationResult",
    "perturbation_radius",
    "effective_rank",
    "participation_ratio",
    # directions: what the leading singular vectors read, write and do
    "DirectionsResult",
    "DirectionsView",
    "steer",
    "Steering",
    "ablate",
    "Ablation",
    "read_out",
    "Readings",
    "shared_of",
    "Shared",
    "between_prompts",
    "BetweenPrompts",
    "cross",
    "Crossing",
    "cross_scores",
    "CrossScores",
    # which blocks to leave out, what that costs, and the model without them
    "prune",
    "Pruning",
    # training runs: the same prompt over their steps
    "Suite",
    "find_suite",
    "measure_steps",
    "collect",
    "ByDistance",
    "Course",
    "Locality",
    "StepNumbers",
    "numbers",
    # coupling while a model trains: watched, and pushed
    "CouplingCallback",
    "CouplingPenalty",
    "coupling_penalty",
    # many models with many prompts: what is measured, and what its table says
    "measure_many",
    "means_by",
    "compare_models",
    "ModelComparison",
    "sweeps",
    "PromptSource",
    "Question",
    "find",
    "Findings",
    # what can go wrong
    "CouplingError",
    "InputError",
    "ComputeError",
    "Cancelled",
]

_HOMES = {
    "analysis.by_step": ("Course", "StepNumbers", "numbers"),
    "analysis.compare": ("Comparison", "Summary", "TokenComparison", "compare"),
    "analysis.coupling_effect": ("CouplingEffect", "coupling_effect"),
    "analysis.crossing": ("CrossScores", "Crossing", "cross"),
    "analysis.directions": ("BetweenPrompts", "Shared", "between_prompts", "shared_of"),
    "analysis.effects": ("EffectMaps", "effect_maps"),
    "analysis.findings": ("Findings", "Question", "find"),
    "analysis.graph": ("communities", "graph_edges", "layer_graph", "modularity"),
    "analysis.locality": ("ByDistance", "Locality", "by_distance", "locality"),
    "analysis.comparing_models": ("compare_models",),
    "analysis.model_comparison": ("ModelComparison",),
    "analysis.path_comparison": ("PathComparison",),
    "analysis.perturbation": ("perturbation_radius",),
    "analysis.projection": ("ProjectedPaths", "project_paths"),
    "analysis.scores": (
        "Interval",
        "chance_floor",
        "corrected",
        "mean_interval",
        "mean_off_diagonal",
        "score_by_k",
        "score_pairs",
    ),
    "analysis.spectra": ("effective_rank", "participation_ratio"),
    "analysis.statistics.by_group": ("means_by",),
    "analysis.token_scores": ("score_positions",),
    "analysis.trajectory": (
        "equidistance",
        "expodistance",
        "growth_rates",
        "line_shape",
        "windowed_line_shape",
    ),
    "base.definitions": ("DEFINITIONS", "DefinitionName"),
    "base.drawing": ("Drawing",),
    "base.edits": ("Edit",),
    "base.errors": ("Cancelled", "ComputeError", "CouplingError", "InputError"),
    "base.jacobian": ("BlockJacobian",),
    "base.records": (
        "Certificate",
        "DirectionsView",
        "EffectView",
        "Kind",
        "PathView",
        "Request",
        "View",
        "parse_blocks",
    ),
    "base.results": (
        "DepthResult",
        "DirectionsResult",
        "Means",
        "PairScores",
        "PerturbationResult",
        "PositionScores",
        "Progress",
        "Result",
        "Scores",
        "SpectrumResult",
        "TokenMeansResult",
        "TokensResult",
        "TrajectoryResult",
        "WhatIfResult",
    ),
    "base.trials": ("Ablation", "Readings", "Steering"),
    "engine.edits.edited": ("edited",),
    "engine.loading.wrapped": ("wrap",),
    "engine.penalty": ("CouplingPenalty", "coupling_penalty"),
    "experiments.many": ("measure_many",),
    "experiments.pruning.door": ("prune",),
    "experiments.pruning.plan": ("Pruning",),
    "experiments.steps": ("collect", "measure_steps"),
    "experiments.watching.callback": ("CouplingCallback",),
    "measuring.front": ("measure",),
    "measuring.model_copy": ("load_model",),
    "measuring.one_jacobian": ("jacobian",),
    "measuring.recheck": ("Recheck", "recheck"),
    "measuring.trying": ("ablate", "cross_scores", "read_out", "steer"),
    "sources.prompts": ("PromptSource",),
    "sources.suites": ("Suite", "find_suite"),
    "store.disk": ("Store",),
    "store.result_file": ("load",),
}

_WHERE = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # which would then know of no name that is missing

    def __getattr__(name: str) -> Any:
        """Bring in what is asked for; each name waits for its own room, and a command for none."""
        if name == "__version__":
            from coupling_core.base.installed import this

            return this().version
        if name in ("sweeps", "figures"):
            return import_module(f"{__name__}.{name}")
        if name not in _WHERE:
            from coupling_core.base.choosing import nearest

            hint = nearest(name, __all__)
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
