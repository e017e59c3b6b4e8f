"""Figures of results: a record in, a plotly `Figure` out, and its twin as a table.

A module has the figures of one subject. What all share is in `style` (colours, ranges, axes),
`curves` (plot, alternative text and table of any curves), `squares` and `score_squares` (maps) and
`words`; `export`, `document` and `slides` make files of figures.

`figure.layout.meta` holds the alternative text ("alt") and the caption ("caption"). Traces that
take clicks, such as "pairs", have the numbers of what they show as customdata: [l, l'] or [t, t'],
a token, a prompt's place. Tokens are 1..n, or -1 for the last; where K, a block or a token is not
in the result, all figures raise `InputError`. Results may be partial.
"""

from coupling_core.analysis.exports import frame as scores_table
from coupling_core.analysis.exports.graph import edges_table
from coupling_core.figures.compare import (
    compared_map,
    comparison,
    difference,
    pair_spectra_table,
    spectra,
)
from coupling_core.figures.crossing import crossed_scores, crossing_angles
from coupling_core.figures.depth_curves import angles, angles_table, scaling, scaling_table
from coupling_core.figures.directions import (
    direction_elsewhere,
    direction_table,
    direction_track,
    readouts,
    shared_directions,
)
from coupling_core.figures.distances import distance, locality
from coupling_core.figures.effects import (
    coupling_against_effect,
    effect_by_step,
    effect_by_step_table,
    effects,
    effects_by_block,
    exchange,
    exchange_table,
)
from coupling_core.figures.eigenvalues import eigenvalues
from coupling_core.figures.export import render
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
from coupling_core.figures.spectrum import spectrum, spectrum_table
from coupling_core.figures.token_numbers import linearised, linearised_table
from coupling_core.figures.training import (
    by_step,
    map_limit,
    steps_table,
    training_source,
)
from coupling_core.figures.vision import picture, rate_maps, rate_maps_table, vision_runs
from coupling_core.figures.words import provenance
