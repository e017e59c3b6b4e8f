"""Figures of results: a record in, a plotly `Figure` out, and its twin as a table.

A module has the figures of one subject. What all share is in `style` (colours, ranges, axes),
`curves` (plot, alternative text and table of any curves), `squares` and `score_squares` (maps) and
`words`; `export`, `document` and `slides` make files of figures.

`figure.layout.meta` holds the alternative text ("alt") and the caption ("caption"). Where K, a
block or a token is not in the result, all of them raise `InputError`.
"""

from coupling_core.analysis.exports import frame as scores_table
from coupling_core.analysis.exports.graph import edges_table
from coupling_core.figures.by_depth import linearised, linearised_table
from coupling_core.figures.compare import compared_map, comparison, difference, spectra
from coupling_core.figures.crossing import crossed_scores, crossing_angles
from coupling_core.figures.depth_curves import angles, angles_table, scaling, scaling_table
from coupling_core.figures.directions import (
    direction_elsewhere,
    direction_table,
    direction_track,
    readouts,
    shared_directions,
    steering,
)
from coupling_core.figures.distances import distance, locality
from coupling_core.figures.effect_scatter import (
    coupling_against_effect,
    effect_by_step,
    effect_by_step_table,
)
from coupling_core.figures.effects import effects, effects_by_block, exchange, exchange_table
from coupling_core.figures.eigenvalues import eigenvalues, products_over_depth
from coupling_core.figures.export import FORMATS, on_paper, render
from coupling_core.figures.generalization import (
    by_prompt_table,
    coupling_by_k,
    coupling_by_k_table,
    coupling_by_prompt,
    fits_table,
    over_models,
    over_models_table,
)
from coupling_core.figures.generalization_forest import (
    correlation_by_k,
    correlations_table,
    prompt_correlations,
    without_families,
)
from coupling_core.figures.graph import graph
from coupling_core.figures.maps import mosaic, scores
from coupling_core.figures.model_comparison import prompt_differences
from coupling_core.figures.over_prompts import (
    by_depth_over_prompts,
    mean_graph,
    mean_map,
    prompt_strip,
)
from coupling_core.figures.pair import matrix, matrix_table, mean_by_k, score_by_k, score_by_k_table
from coupling_core.figures.paths import paths, paths_at
from coupling_core.figures.perturbation import noise_by_depth, noise_by_size, noise_radius
from coupling_core.figures.pruning import pruning
from coupling_core.figures.spectrum import pair_spectra_table, spectrum, spectrum_table
from coupling_core.figures.training import (
    by_step,
    compared,
    map_limit,
    rise_and_fall,
    steps_table,
    training_source,
)
from coupling_core.figures.vision import picture, rate_maps, rate_maps_table, vision_runs
from coupling_core.figures.words import provenance

__all__ = [  # noqa: RUF022 - by use, not by name
    # of pairs of blocks, or of tokens
    "scores", "scores_table", "mosaic", "matrix", "matrix_table", "score_by_k", "score_by_k_table",
    "mean_by_k", "angles", "angles_table", "spectrum", "spectrum_table", "scaling",
    "scaling_table", "locality", "graph", "edges_table",
    "distance",
    # of two results
    "compared_map", "difference", "comparison", "spectra",
    "pair_spectra_table", "crossing_angles", "crossed_scores",
    # of trajectories
    "paths", "linearised", "linearised_table",
    # of many prompts
    "mean_map", "mean_graph", "prompt_differences", "prompt_strip", "by_depth_over_prompts",
    # of edits
    "effects", "effects_by_block", "exchange", "exchange_table", "coupling_against_effect",
    "effect_by_step",
    "effect_by_step_table", "pruning",
    # of linear maps and directions
    "eigenvalues", "products_over_depth", "readouts", "direction_track",
    "direction_elsewhere", "direction_table", "shared_directions", "steering",
    "noise_by_size", "noise_by_depth", "noise_radius",
    # of training runs
    "by_step", "steps_table", "map_limit", "paths_at", "training_source", "rise_and_fall",
    "compared",
    # of vision transformers
    "picture", "rate_maps", "rate_maps_table", "vision_runs",
    # of many models
    "over_models", "over_models_table", "fits_table", "coupling_by_k", "coupling_by_k_table",
    "correlation_by_k", "correlations_table", "coupling_by_prompt", "by_prompt_table",
    "prompt_correlations", "without_families",
    # files
    "FORMATS", "on_paper", "render", "provenance",
]  # fmt: skip
