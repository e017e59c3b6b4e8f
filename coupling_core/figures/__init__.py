"""Figures of results: a record in, a plotly `Figure` out, and its twin as a table.

    style, words           what all share: colours and ranges, sentences
    squares, score_squares the square map: axes, cells without a colour, the mouse; scores on it
    maps                   all pairs of blocks, or of tokens: their scores, or their matrices
    square_words           sentences of these, and of one pair
    curves                 any figure of curves: plot, alternative text and table of one record
    spectrum               singular values, and the gap at K
    pair                   one coupling matrix, and its score against K: of blocks or of tokens
    by_k                   a score against K
    depth_curves           principal angles, score by distance, scaling with depth, random bases
    graph                  the blocks as a graph
                           (layouts, graph_words: their places and sentences)
    compare                two results side by side, of blocks or of tokens
    over_prompts           means over many prompts, and where each prompt stands
    model_comparison       how far two models are apart at each prompt
    tables                 the same numbers as tables

    paths                  tokens' paths through depth in their principal components
    paths_apart            those of two results side by side
    by_depth, per_token    a number of each state or block, and of each whole path
    path_words, token_labels    sentences and short texts for these

    effects                what edits of the depth do, and what first order predicts of swaps
    effect_scatter         coupling against their effect, over pairs and by training step
    eigenvalues            of the blocks' linear maps, and what products of them leave over
    directions             readouts, one direction over depth, shared directions, steering
    perturbation           noise on the first state, and how far first order predicts it
    crossing               how far the directions of two models' blocks are apart
    two_bases              what the tour explains coupling with
    pruning                held-out loss against blocks removed

    training               numbers of training runs by step
    training_words         sentences for these

    generalization                   two numbers of each of many models
    generalization_by_k              coupling and its correlations against K
    generalization_prompts           coupling against length and difficulty of prompts
    generalization_forest            estimates without each family, and within each model
    generalization_words, _tables    sentences and tables for these

    vision                 a picture's patches, maps by rate, numbers of runs

    typeset                states and singular values in a sentence, with their indices
    export                 standalone HTML, PDF, SVG and PNG with their provenance
    document               several of them with words as one HTML file
    enlarged               one for the last row of a lecture room
    drawing                maps and curves by matplotlib, where there is no Chromium

`figure.layout.meta` holds the alternative text ("alt") and the caption ("caption").
"""

from coupling_core.analysis.exports import frame as scores_table
from coupling_core.analysis.exports.compare import differences_table
from coupling_core.analysis.exports.graph import edges_table
from coupling_core.figures.by_depth import linearised, linearised_table
from coupling_core.figures.by_k import mean_by_k
from coupling_core.figures.compare import compared_map, comparison, difference, spectra
from coupling_core.figures.crossing import crossed_scores, crossing_angles
from coupling_core.figures.depth_curves import (
    angles,
    angles_table,
    locality,
    locality_table,
    scaling,
    scaling_table,
)
from coupling_core.figures.directions import (
    direction_elsewhere,
    direction_table,
    direction_track,
    readouts,
    shared_directions,
    steering,
)
from coupling_core.figures.effect_scatter import (
    coupling_against_effect,
    coupling_against_effect_table,
    effect_by_step,
    effect_by_step_table,
    pairs_against_effect,
)
from coupling_core.figures.effects import effects, effects_by_block, exchange, exchange_table
from coupling_core.figures.eigenvalues import eigenvalues, products_over_depth
from coupling_core.figures.export import FORMATS, on_paper, render
from coupling_core.figures.generalization import over_models
from coupling_core.figures.generalization_by_k import correlation_by_k, coupling_by_k
from coupling_core.figures.generalization_forest import prompt_correlations, without_families
from coupling_core.figures.generalization_prompts import coupling_by_prompt
from coupling_core.figures.generalization_tables import (
    by_prompt_table,
    correlation_by_k_table,
    coupling_by_k_table,
    fits_table,
    over_models_table,
    trends_table,
    without_families_table,
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
from coupling_core.figures.pair import matrix, matrix_table, score_by_k, score_by_k_table
from coupling_core.figures.paths import paths, paths_at, paths_table
from coupling_core.figures.perturbation import noise_by_depth, noise_by_size, noise_radius
from coupling_core.figures.pruning import pruning
from coupling_core.figures.spectrum import spectrum
from coupling_core.figures.tables import (
    pair_spectra_table,
    spectrum_table,
    steps_table,
)
from coupling_core.figures.training import by_step, map_limit
from coupling_core.figures.training_words import compared, rise_and_fall, training_source
from coupling_core.figures.vision import (
    patch_grid,
    picture,
    rate_maps,
    rate_maps_table,
    vision_runs,
)
from coupling_core.figures.words import provenance

__all__ = [  # noqa: RUF022 - by use, not by name
    # figures
    "scores",
    "mosaic",
    "matrix",
    "spectrum",
    "score_by_k",
    "mean_by_k",
    "angles",
    # of trajectories
    "paths",
    "linearised",
    "scaling",
    "graph",
    "locality",
    "compared_map",
    "difference",
    "comparison",
    "spectra",
    # of many prompts
    "mean_map",
    "mean_graph",
    "prompt_differences",
    "prompt_strip",
    "by_depth_over_prompts",
    # of edits
    "effects",
    "effects_by_block",
    "exchange",
    "coupling_against_effect",
    "pairs_against_effect",
    "effect_by_step",
    # of linear maps
    "eigenvalues",
    "products_over_depth",
    "readouts",
    "direction_track",
    "direction_elsewhere",
    "direction_table",
    "shared_directions",
    "steering",
    "crossing_angles",
    "crossed_scores",
    "noise_by_size",
    "noise_by_depth",
    "noise_radius",
    "pruning",
    # of training runs
    "by_step",
    "map_limit",
    "paths_at",
    "training_source",
    "rise_and_fall",
    "compared",
    # of vision transformers
    "picture",
    "patch_grid",
    "rate_maps",
    "rate_maps_table",
    "vision_runs",
    # of many models
    "over_models",
    "coupling_by_k",
    "correlation_by_k",
    "coupling_by_prompt",
    "prompt_correlations",
    "without_families",
    # their twins
    "scores_table",
    "matrix_table",
    "spectrum_table",
    "score_by_k_table",
    "angles_table",
    "paths_table",
    "linearised_table",
    "scaling_table",
    "exchange_table",
    "coupling_against_effect_table",
    "effect_by_step_table",
    "edges_table",
    "locality_table",
    "differences_table",
    "pair_spectra_table",
    "steps_table",
    "over_models_table",
    "fits_table",
    "coupling_by_k_table",
    "correlation_by_k_table",
    "by_prompt_table",
    "trends_table",
    "without_families_table",
    # files
    "FORMATS",
    "on_paper",
    "render",
    "provenance",
]
