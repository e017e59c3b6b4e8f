"""What a program sets of torch for itself, such as a default dtype, changes no number."""

from contextlib import contextmanager
from dataclasses import fields
from functools import cache

import numpy as np
import pytest
import shallow
import tiny
import torch

import coupling_core as cc
from coupling_core.base.kinds import kinds
from coupling_core.compat import coupling_from_hooks

IDS = list(range(5, 13))


@contextmanager
def default_dtype(dtype):
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def default_device(name):
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextmanager
def deterministic():
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def coarse_products():
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")


SETTINGS = {
    "float64": lambda: default_dtype(torch.float64),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "float16": lambda: default_dtype(torch.float16),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "inference": torch.inference_mode,
    "no gradients": torch.no_grad,
    "deterministic": deterministic,
    "another device": lambda: default_device("meta"),
    "coarse products": coarse_products,
    "strict NumPy": lambda: np.errstate(all="raise"),
}


def measured(kind, model, **more):
    more |= {"k": 4} if kinds()[kind].has_k else {}
    return cc.measure(IDS, None, model=model, kind=kind, progress=False, **more)


def of_kind(kind):
    def entry(model, _):
        found = measured(kind, model)
        held = ((item.name, getattr(found, item.name)) for item in fields(found))
        return {name: each for name, each in held if isinstance(each, np.ndarray)}

    return entry


def of_one_block(model, _):
    found = cc.jacobian(model, IDS, block=2, token=5, k=4, progress=False)
    return {name: getattr(found, name) for name in ("J", "u", "s", "v")}


def of_a_trial(model, _):
    found = measured("directions", model)
    steered = cc.steer(found, block=1, components=[1], sizes=[0.5], progress=False)
    ablated = cc.ablate(found, blocks=[1], progress=False)
    return {"steered": steered.divergence, "ablated": np.array(ablated.divergence)}


def of_a_name(_, folder):
    found = cc.measure(tiny.TEXT, None, model=str(folder), k=4, untrained=3, progress=False)
    return {"s": found.singular_values}


def of_many(model, _):
    table = cc.measure_many([IDS], model, k=4, store=None, progress=False)
    return {"corrected": table["corrected"].to_numpy(float)}


def of_hooks(model, _):
    before = torch.arange(24.0, dtype=torch.float32, device="cpu").reshape(1, 3, 8) / 24
    with torch.inference_mode(False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
        x = before.clone().requires_grad_()
        y = torch.tanh(x) * 2
        hooks = {0: {0: x, 1: y}, 1: {0: y, 1: y.sin()}}
    ujv, _ = coupling_from_hooks({"a": hooks[0], "b": hooks[1]}, num_sing_vecs=[4])
    return {"trace": ujv[4]["trace"].numpy()}


def of_a_callback(model, _):
    callback = cc.CouplingCallback([tuple(IDS)], k=4)
    callback.after(0, model)
    return {"looks": np.array([callback.looks[0].numbers["corrected"]])}


ENTRIES = {kind: of_kind(kind) for kind in kinds()}
ENTRIES |= {
    "jacobian": of_one_block,
    "trials": of_a_trial,
    "a name": of_a_name,
    "measure_many": of_many,
    "hooks": of_hooks,
    "callback": of_a_callback,
}


@pytest.fixture(scope="module")
def model():
    return shallow.model("llama")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny.folder(tmp_path_factory.mktemp("named") / "model")


@pytest.fixture(scope="module")
def plainly(model, folder):
    return cache(lambda name: ENTRIES[name](model, folder))


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_number_depends_on_what_the_caller_has_set(model, folder, plainly, setting):
    for name, entry in ENTRIES.items():
        wanted = plainly(name)
        with SETTINGS[setting]():
            found = entry(model, folder)
        assert found.keys() == wanted.keys(), name
        for part, values in wanted.items():
            assert np.array_equal(found[part], values, equal_nan=values.dtype.kind == "f"), (
                name,
                part,
            )


@pytest.mark.parametrize("setting", [name for name in SETTINGS if name != "inference"])
def test_a_penalty_trains_whatever_is_set(setting):
    model = shallow.model("llama").train()
    with SETTINGS[setting](), torch.enable_grad():
        penalty = cc.coupling_penalty(model, goal="raise", k=2, pairs=1)
        model(input_ids=torch.tensor([IDS], device="cpu"))
        penalty().backward()
        penalty.close()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
