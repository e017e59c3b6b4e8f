"""The token that is measured where nobody says one is the same in Python, files and commands."""

import pytest
from vision_models import picture

from coupling_core.base.kinds import kind_of, kinds
from coupling_core.base.records import usual_token
from coupling_core.experiments.many import measure_many
from coupling_core.experiments.sweeps.definition import Sweep
from coupling_core.experiments.sweeps.plan import make
from coupling_core.measuring.asked import request_for
from coupling_core.measuring.front import measure
from coupling_core.sources.prompts import PromptSource

IDS = (3, 1, 4)


def test_of_a_text_it_is_the_last_and_of_a_fixed_input_the_first():
    found = {kind: request_for("The cat", None, {"kind": kind}).token for kind in kinds()}
    assert found == {kind: usual_token(kind, "The cat") for kind in kinds()}
    assert found == dict.fromkeys(kinds(), -1) | {"fixed-input": 1}


def test_of_an_image_it_is_the_class_token_where_one_is_measured():
    found = {kind: request_for(picture(), None, {"kind": kind}).token for kind in kinds()}
    of_class = {kind for kind in kinds() if kind_of(kind).token == "measured"} | {"fixed-input"}
    assert found == {kind: 1 if kind in of_class else -1 for kind in kinds()}


def test_a_fixed_input_that_is_said_is_the_one_that_is_taken(llama):
    said = {"kind": "fixed-input", "block": 1}
    assert measure(IDS, model=llama, token=-1, **said).request.token == -1
    assert measure(IDS, model=llama, **said).request.token == 1


def test_a_table_has_the_same_numbers_as_one_measurement(llama):
    one = measure(IDS, model=llama, kind="fixed-input")
    table = measure_many([IDS], llama, kind="fixed-input", store=None, progress=False)
    assert table.coupling[0] == pytest.approx(one.scores().mean().coupling, abs=1e-6)


@pytest.mark.parametrize(("said", "expected"), [({}, 1), ({"token": -1}, -1)])
def test_a_sweep_takes_what_it_says(said, expected):
    asked = {"name": "usual", "models": ({"model": "smollm2-135m"},), "kinds": ("fixed-input",)}
    asked["prompts"] = (PromptSource(text="The cat sat"),)
    (item,) = make(Sweep.model_validate(asked | said)).items()
    assert item.request.token == expected
