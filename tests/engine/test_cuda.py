"""Every kind of measurement, of every family, on a real GPU: it gives what the processor gives."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
import vision_models
from transformers import MambaConfig, MambaForCausalLM
from two_devices import ALONE, IDS, KINDS, asked, built, require_equal

from coupling_core import CouplingCallback, Request, ablate, coupling_penalty, steer
from coupling_core.base.errors import ComputeError
from coupling_core.engine import out_of_memory
from coupling_core.engine.loading import find_blocks
from coupling_core.measuring.measure import measure

pytestmark = pytest.mark.gpu
IN_EVERY_KIND = ("llama3", "gpt_neox", "bert")
ACROSS_DEPTH = (*tiny.CAUSAL, *tiny.BIDIRECTIONAL, *tiny.TWO_STACKS, *vision_models.FAMILIES)
EVERY = dict.fromkeys(  # in order, and none twice
    [
        *((family, kind) for family in IN_EVERY_KIND for kind in KINDS | ALONE),
        *((family, "depth") for family in ACROSS_DEPTH),
    ]
)


def measure_both(family: str, kind: str, dtype: torch.dtype = torch.float32) -> None:
    """Measure here and there, and compare."""
    model, words = built(family)
    request = asked(family, kind)
    here = measure(request, model=model.to(dtype), tokenizer=words)
    there = measure(request, model=model.to("cuda"), tokenizer=words)
    assert there.provenance["device"] != here.provenance["device"]
    require_equal(there, here)
    assert there.provenance["ways"] == here.provenance["ways"], "other ways were taken"


@pytest.mark.parametrize(("family", "kind"), EVERY)
def test_a_gpu_gives_what_the_processor_gives(family: str, kind: str) -> None:
    measure_both(family, kind)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("depth", torch.bfloat16),
        ("depth", torch.float16),
        ("fixed-output", torch.bfloat16),
        ("what-if", torch.bfloat16),
    ],
)
def test_weights_in_half_precision_are_lent_where_they_are(kind: str, dtype: torch.dtype) -> None:
    measure_both("llama3", kind, dtype)


@pytest.mark.parametrize(
    "changes",
    [{}, {"dtype": "bfloat16"}, {"untrained": 3}, {"quantize": "nf4"}, {"quantize": "int8"}],
    ids=str,
)
def test_a_folder_is_brought_to_the_gpu(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = tiny.folder(tmp_path / "model", "gpt_neox")
    request = asked("gpt_neox", "depth", model=str(folder), **changes)
    require_equal(measure(request, device="cuda"), measure(request, device="cpu"))


@pytest.mark.parametrize("kind", ["depth", "what-if", "trajectory", "perturbation"])
def test_the_same_is_measured_twice(kind: str) -> None:
    model, _ = built("llama3")
    model = model.to("cuda")
    first, second = (measure(asked("llama3", kind), model=model) for _ in range(2))
    for name in ("singular_values", "divergence", "norms", "distance"):
        if hasattr(first, name):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_a_model_larger_than_the_gpu_is_streamed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    request = asked("llama3", "depth", model=str(tiny.folder(tmp_path / "model", "llama3")))
    here = measure(request, device="cpu")
    monkeypatch.setattr("coupling_core.engine.loading.loading.usable_memory", lambda device: 10)
    require_equal(measure(request, device="cuda"), here)


@contextmanager
def at_most(count: float) -> Iterator[None]:
    """No more bytes of the GPU for this process."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(count / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.fixture
def mamba() -> Any:
    """A model whose Jacobian takes a gigabyte at once, and little more than itself row by row."""
    config = MambaConfig(
        hidden_size=256, intermediate_size=512, num_hidden_layers=1, vocab_size=200
    )
    return MambaForCausalLM(config).eval().requires_grad_(False).to("cuda")


def test_where_memory_runs_out_less_is_done_at_a_time(mamba: Any) -> None:
    """As a GPU says it: the work is done in smaller parts, and the numbers stay."""
    request = Request(tuple(range(1, 33)), k=4)
    measure(request, model=mamba)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_reserved()
    expected = measure(request, model=mamba)
    took = torch.cuda.max_memory_reserved() - held
    halved: list[int] = []
    out_of_memory.when_short(lambda: halved.append(1))
    with at_most(held + 0.6 * took):
        found = measure(request, model=mamba)
    assert halved, took
    require_equal(found, expected)


def test_want_of_memory_is_told_in_plain_words(mamba: Any) -> None:
    torch.cuda.empty_cache()
    with (
        at_most(torch.cuda.memory_reserved() + 2**20),
        pytest.raises(ComputeError, match="memory"),
    ):
        measure(Request(tuple(range(1, 129)), k=4), model=mamba)


@pytest.mark.parametrize("family", ["gpt_neox", "llama3", "vit"])
def test_the_penalty_and_its_gradient(family: str) -> None:
    def of(device: str) -> tuple[float, torch.Tensor]:
        model = built(family)[0].to(device).train().requires_grad_(True)
        for part in model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        penalty = coupling_penalty(model, goal="raise", pairs=99, k=2, sequences=2, power_steps=200)
        if family == "vit":
            pixels = torch.linspace(-1, 1, 2 * 3 * 32 * 32).sin().reshape(2, 3, 32, 32)
            model(pixel_values=pixels.to(device))
        else:
            model.config.use_cache = False
            model(input_ids=torch.tensor([[3, 5, 7, 11], [1, 4, 1, 8]], device=device))
        value = penalty()
        value.backward()
        gradients = [p.grad for p in find_blocks(model)[1].parameters() if p.grad is not None]
        return value.item(), torch.cat([g.flatten().cpu() for g in gradients])

    (here, expected), (there, found) = of("cpu"), of("cuda")
    assert there == pytest.approx(here, rel=1e-3)
    assert torch.norm(found - expected) < 1e-2 * torch.norm(expected)


def test_what_is_tried_with_directions(tmp_path: Path) -> None:
    request = asked("gpt_neox", "directions", model=str(tiny.folder(tmp_path / "m", "gpt_neox")))
    found = measure(request, device="cpu")
    for attempt in (partial(steer, found, block=2), partial(ablate, found, blocks=2)):
        here, there = attempt(device="cpu"), attempt(device="cuda")
        np.testing.assert_allclose(there.divergence, here.divergence, rtol=1e-2, atol=1e-5)


def test_a_training_that_is_watched_goes_on_as_if_nobody_looked() -> None:
    def losses(watched: bool) -> list[float]:
        model = built("gpt_neox")[0].to("cuda").train().requires_grad_(True)
        callback = CouplingCallback([IDS, IDS[::-1]], every=2, k=4, share=1.0)
        optimiser = torch.optim.SGD(model.parameters(), lr=1e-2)
        ids, found = torch.tensor([IDS], device="cuda"), []
        for step in range(7):
            if watched:
                callback.after(step, model)
            loss = model(input_ids=ids, labels=ids).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            found.append(loss.item())
        assert len(callback.looks) == (4 if watched else 0)
        return found

    assert losses(watched=True) == losses(watched=False)
