"""How straight and how even the paths of tokens are, trained and untrained, over many prompts.

The papers report a mean line-shape score of 4.25 over their trained models and of 6.54 at
initialisation (preprint, Section 5.5). Here it is SmolLM2-135M and one prompt a topic of Python's
own documentation; the score of a prompt is the mean over its tokens, as in Eq. 10 and 11, with the
final norm in the last block (`include`) and without it.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pydoc_data.topics import topics

import numpy as np

from benchmarks import common
from coupling_core import Request, mean_interval
from coupling_core.analysis import trajectory
from coupling_core.engine.jacobians.decode import read
from coupling_core.engine.loading import evaluating, in_float32, load
from coupling_core.engine.token_paths import normed, raw_states
from coupling_core.sources.resolved import resolve

PROMPTS, TOKENS = 60, 64
LETTERS = 1000
"""Of each topic: more than so many tokens have."""
MODELS = {"trained": None, "untrained": 0}


def prompts(count: int) -> list[str]:
    """One text a topic, the longest ones, in the order of their names."""
    longest = sorted(topics, key=lambda name: (-len(topics[name]), name))[:count]
    return [" ".join(topics[name].split())[:LETTERS] for name in sorted(longest)]


def paths(quick: bool, seed: int | None, final_norm: bool) -> Iterator[np.ndarray]:
    """States of each prompt's first tokens."""
    if quick:
        model = common.llama()
        for ids in (range(1, 9), range(9, 17)):
            yield raw_states(read(model, list(ids))).numpy()
        return
    loaded = load(resolve(Request("-", untrained=seed)), "cpu")
    with evaluating(loaded.model), in_float32(loaded.model, loaded.device):
        for text in prompts(PROMPTS):
            reader = read(loaded.model, loaded.encode(text)[:TOKENS])
            norm = reader.kind.final_norm if final_norm else None
            yield normed(raw_states(reader), norm).numpy()


def measured(quick: bool, seed: int | None, final_norm: bool) -> common.Results:
    """Each number of every prompt, as a mean or median over its tokens, and their intervals."""
    found: dict[str, list[float]] = {"line_shape": [], "expodistance": [], "equidistance": []}
    for states in paths(quick, seed, final_norm):
        found["line_shape"].append(float(trajectory.line_shape(states).mean()))
        growth = trajectory.expodistance(trajectory.norms(states))
        found["expodistance"].append(float(np.nanmedian(growth)))
        steps = trajectory.equidistance(trajectory.step_lengths(states))
        found["equidistance"].append(float(np.nanmedian(steps)))
    return {
        name: asdict(mean_interval(np.array(values))) | {"prompts": values}
        for name, values in found.items()
    }


def collect(quick: bool) -> common.Results:
    """Trained and untrained, in both conventions of the final norm."""
    return {
        "tokens": TOKENS,
        "found": {
            norm: {
                name: measured(quick, seed, final_norm=norm == "include")
                for name, seed in MODELS.items()
            }
            for norm in ("include", "exclude")
        },
    }


def summary(results: common.Results) -> common.Rows:
    """A row a number."""
    words = {
        "line_shape": "Line-shape score, mean over tokens",
        "expodistance": "Expodistance, median over tokens",
        "equidistance": "Equidistance (coefficient of variation), median over tokens",
    }
    found = results["found"]
    n = len(found["include"]["trained"]["line_shape"]["prompts"])
    return [
        (
            f"{what}, {n} prompts of {results['tokens']} tokens, trained and untrained",
            "; ".join(
                f"final norm {norm}d {_pair(found[norm], name)}" for norm in ("include", "exclude")
            ),
        )
        for name, what in words.items()
    ]


def _pair(found: common.Results, name: str) -> str:
    return " and ".join(
        f"{found[model][name]['mean']:.3g} ({found[model][name]['low']:.3g} to "
        f"{found[model][name]['high']:.3g})"
        for model in MODELS
    )
