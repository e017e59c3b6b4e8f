"""The command that pushes models of any size: one process and two come to the same."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import GPTNeoXConfig, TrainingArguments

from coupling_core.experiments.pushing.at_scale import Pushed, main, train

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("one_thread")]

STEPS = 6


@pytest.fixture
def folder(tmp_path):
    GPTNeoXConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=32, bos_token_id=0, eos_token_id=0,
    ).save_pretrained(tmp_path / "model")  # fmt: skip
    rng = np.random.default_rng(0)
    for name in ("learned", "held_out"):
        np.save(tmp_path / f"{name}.npy", rng.integers(0, 64, 16 * 64).astype(np.uint16))
    return tmp_path


def options(folder, *, batch, sequences, goal):
    """Of a command whose checkpoint lies in a folder of its own."""
    given = {
        "model": folder / "model", "tokens": folder / "learned.npy", "name": f"of-{batch}",
        "held_out": folder / "held_out.npy", "context": 16, "sequences": sequences, "goal": goal,
        "weight": 0.5, "probes": 2, "every": 3, "output_dir": folder / f"{batch}-{goal}",
        "max_steps": STEPS, "per_device_train_batch_size": batch, "save_steps": STEPS,
        "learning_rate": 3e-3, "report_to": "none", "seed": 3, "optim": "sgd",
    }  # fmt: skip
    told = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return [*told, "--use_cpu"]


def weights(folder, batch, goal):
    saved = load_file(folder / f"{batch}-{goal}" / f"checkpoint-{STEPS}" / "model.safetensors")
    return torch.cat([saved[name].flatten() for name in sorted(saved)])


@pytest.mark.slow
def test_two_processes_give_the_result_of_one_with_the_same_batch(folder):
    for goal in ("raise", ""):
        main(options(folder, batch=8, sequences=2, goal=goal))
    # What `accelerate launch` runs where there are GPUs; without, it begins one process.
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2", "-m"]
    asked = options(folder, batch=4, sequences=1, goal="raise")
    done = subprocess.run(
        [*launch, "coupling_core.experiments.pushing.at_scale", *asked],
        env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    one, two, control = (weights(folder, *which) for which in ((8, "raise"), (4, "raise"), (8, "")))
    torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)
    assert (one - control).abs().max() > 100 * (one - two).abs().max()


def test_accumulated_steps_give_the_result_of_one(folder):
    found = []
    for batch, accumulated, sequences in ((8, 1, 2), (4, 2, 1)):
        arguments = TrainingArguments(
            output_dir=str(folder / "out"), max_steps=1, per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulated, report_to=[], use_cpu=True, seed=3,
            optim="sgd", learning_rate=0.1, save_strategy="no", max_grad_norm=0.0,
        )  # fmt: skip
        pushed = Pushed(
            model=str(folder / "model"), tokens=str(folder / "learned.npy"), name="",
            held_out=str(folder / "held_out.npy"), context=16, weight=0.0, goal="raise",
            sequences=sequences, probes=1,
        )  # fmt: skip
        model = train(pushed, arguments).model
        found.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach())
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)
