"""What functions cannot take is refused in words, although types are not checked at run time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import refused

from coupling_core import InputError, Request, View, find_suite, measure, measure_many
from coupling_core.base.kinds import kinds

NEEDED = {
    "steer": "'directions'",
    "ablate": "'directions'",
    "read_out": "'directions'",
    "shared_of": "'directions'",
    "between_prompts": "'directions'",
    "effect_maps": "'what-if'",
    "coupling_effect": "'depth'",
    "coupling_effect effect": "'what-if'",
    "score_by_k": "'depth'",
    "perturbation_radius": "'perturbation'",
    "score_positions": "'self' or 'fixed-input' or 'fixed-output'",
    "chance_floor": "'depth' or 'self' or 'fixed-input' or 'fixed-output'",
}
WORDS = {
    "scores k True": "K must be a whole number, and True came",
    "scores k list": "K must be a whole number, and [1, 2] came",
    "scores k float": "K must be a whole number, and 2.5 came",
    "scores p": "a finite number >= 1, and 'x' was given",
    "token scores k": "K must be a whole number, and True came",
    "mean scores k": "K must be a whole number, and [1] came",
    "view blocks text": "and '9-12' came: a text such as '9-16' is read where a function",
    "view blocks one": "the blocks of a view are numbers, such as range(9, 17), and 9 came",
    "view blocks floats": "a block must be a whole number, and 1.5 came",
    "model a suite": "(did you mean 'coupling-explorer/mini-64'?)",
    "role": "the role must be one of A, B, and 'a' came (did you mean 'A'?)",
    "final norm": "and 'excluded' came (did you mean 'exclude'?)",
    "kind None": "and None came",
    "kind whatif": "(did you mean 'what-if'?)",
    "shared_of view": "expected one such as DirectionsView(",
    "shared_of side": "the side must be one of u, v, and 'w' came",
    "between_prompts one": "one result came",
    "score_positions view": "expected one such as View(k=50",
    "effect_maps view": "expected one such as EffectView(tokens=None), and View came",
    "effect_maps number": "number must be one of divergence, loss, stays, and 'loses' came (did",
    "coupling_effect edit": "and 'replaced' came (did you mean 'replace'?)",
    "score_pairs view": "expected one such as View(k=50",
    "chance_floor name": "(did you mean 'paper'?)",
    "project_paths view": "expected one such as PathView(",
    "by_distance": "expected the scores of tokens",
    "numbers": "expected what measure_steps(...) or collect(...) gives",
    "cross_scores": "a result of kind 'depth' came where one of kind 'directions' is needed",
    "prune texts": "number 2 of it is a list",
    "recheck": "expected a result, as measure(...), Store().get(key) or load(path) gives it",
    "compare view": "expected one such as View(k=50",
    "layer_graph view": "expected one such as View(k=50",
    "compare_models": "a and b are both 'a'",
    "compare_models name": "(did you mean 'LlamaForCausalLM'?)",
    "compare_models table": "a DepthResult came where a table is needed",
    "Edit spelled": "as in Edit('skip', (12,))",
    "Edit number": "a tuple of their numbers, such as (12,), and 3 came",
    "Edit factor": "the factor of damp lies in 0..2",
    "edited name": "the edit 'name' cannot be read: expected a form such as none, skip(12)",
    "edited meant": "the edit 'skp(3)' cannot be read (did you mean 'skip'?)",
    "edited list": "or a list of these, and list came: ['skip(1)', 2]",
    "edited None": "or a list of these, and NoneType came",
    "edited twice": "interchange(1,2) and skip(2) both change what runs in slot 2",
    "Request word": "Request has no argument 'modle' (did you mean 'model'?): it has prompt, model",
    "View word": "View has no argument 'definitoin' (did you mean 'definition'?): it has k,",
    "PathView word": "(did you mean 'fit'?)",
    "EffectView word": "(did you mean 'tokens'?): it has tokens",
    "DirectionsView word": "(did you mean 'leading'?): it has blocks, leading",
    "compare k": "Take K = 8 or less; A has width 48, which no K can pass",
    "scores k absurd": "K must lie in 1..8 (what was measured; at most the model's width, 48",
    "jacobian texts": "'The cat sat' came as the model and 'smollm2-135m' as the prompt",
    "jacobian module": "a LlamaForCausalLM as the prompt. jacobian takes the model first",
    "jacobian ids": "a tuple came as the model and 'smollm2-135m' as the prompt",
    "jacobian unknown": "model 'smollm3' is unknown",
    "growth_rates": "a TrajectoryResult came where numbers are needed: hand over norms",
    "expodistance": "as result.norms of a trajectory",
    "equidistance": "as result.step_lengths of a trajectory",
    "line_shape": "what a trajectory has found of its own is result.line_shape",
    "windowed_line_shape": "found of its own is result.windowed_line_shape",
    "effective_rank": "hand over result.product_values of a spectrum",
    "participation_ratio": "hand over result.product_values of a spectrum",
    "corrected": "scores.corrected is what comes of them",
    "mean_off_diagonal": "hand over scores.corrected or scores.coupling",
    "mean_interval": "hand over one number a prompt, such as the column table.corrected",
    "mean_interval table": "a DataFrame of 2 dimensions came where 1 are needed",
    "no names of tokens": "a function, does not say what a token is called: expected convert_ids",
}
WORDS |= {name: f"came where one of kind {kind} is needed" for name, kind in NEEDED.items()}


@pytest.fixture(scope="module")
def said():
    """What each call raised in a process of its own, which checks no types."""
    where = Path(refused.__file__)
    paths = os.pathsep.join([str(where.parents[2]), str(where.parent)])
    done = subprocess.run(
        [sys.executable, str(where)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", WORDS)
def test_it_is_told_what_was_expected(said, name):
    assert said[name].startswith("InputError: ")
    assert WORDS[name] in said[name]


def test_every_call_is_looked_at(said):
    assert said.keys() == WORDS.keys()


@pytest.mark.parametrize(
    ("refuse", "meant"),
    [
        (lambda: Request("a", kind="fixed_output"), "fixed-output"),
        (lambda: Request("a", kind="Depth"), "depth"),
        (lambda: Request("a", dtype="bf16"), "bfloat16"),
        (lambda: View(definition="algnment"), "alignment"),
        (lambda: find_suite("mini64"), "mini-64"),
        (lambda: measure("a", model="smollm2_135m"), "smollm2-135m"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(refuse, meant):
    with pytest.raises(InputError, match=rf"\(did you mean '{meant}'\?\)"):
        refuse()


def test_a_name_that_is_like_none_is_answered_with_the_list_alone():
    with pytest.raises(InputError, match=r"directions, and 'breadth' came$"):
        Request("a", kind="breadth")


def test_token_0_is_told_where_counting_begins():
    with pytest.raises(InputError, match="counted from 1, so the first is token 1, and -1 is"):
        measure((3, 1, 4), token=0)


@pytest.mark.parametrize("of", [measure, measure_many, Request])
def test_the_help_names_every_kind(of):
    assert [kind for kind in kinds() if f"`{kind}`" not in of.__doc__] == []
