"""The penalty on coupling: its value and gradient by the definition, and what it does to models."""

import numpy as np
import pytest
import tiny
import torch
import vision_models
from torch import nn

from coupling_core import InputError, wrap
from coupling_core.engine.jacobians.true_float64 import TrueFloat64
from coupling_core.engine.loading import find_blocks
from coupling_core.engine.penalty import coupling_penalty

IDS = torch.tensor([[3, 5, 7, 11, 2, 9], [1, 4, 1, 8, 6, 3]])
PICTURES = torch.linspace(-1, 1, 2 * 3 * 32 * 32).sin().reshape(2, 3, 32, 32)
FAMILIES = [
    pytest.param(family, marks=marks)
    for families, marks in (
        (("llama", "gpt_neox"), ()),
        (("bert", "vit"), pytest.mark.full),
        (("gpt2", "qwen3", *vision_models.FAMILIES[1:]), pytest.mark.slow),
    )
    for family in families
]
DRAWN = {"beit": {"drop_path_rate": 0.0}, "dinov3": {"pos_embed_rescale": None}}
"""What would be drawn at each pass in training: dropped paths, and a scale of the positions."""


def run(model, ids=IDS):
    if vision_models.reads_pictures(model):
        return model(pixel_values=PICTURES.to(model.dtype))
    return model(input_ids=ids)


def trained(family, dtype=torch.float64):
    """A model as one trains it, but for what is dropped: it gives the same twice."""
    if family in vision_models.FAMILIES:
        model = vision_models.model(family, **DRAWN.get(family, {}))
    else:
        model = tiny.model(family)
    model = model.to(dtype).train().requires_grad_(True)
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    model.config.use_cache = False
    for name in ("attn_pdrop", "attention_probs_dropout_prob", "attention_dropout"):
        if hasattr(model.config, name):
            setattr(model.config, name, 0.0)
    return model


def drawn_token(model):
    """The index of the token that a penalty of seed 0 draws first."""
    tokens = []
    hook = find_blocks(model)[0].register_forward_pre_hook(
        lambda _, args, kwargs: tokens.append((args + tuple(kwargs.values()))[0].shape[1]),
        with_kwargs=True,
    )
    run(model)
    hook.remove()
    return torch.randint(tokens[0], (), generator=torch.Generator().manual_seed(0)).item()


def dense(model, number, token):
    """(sequence d d) the block's Jacobian at a token, straight from the definition."""
    block, kept = find_blocks(model)[number - 1], {}
    hook = block.register_forward_pre_hook(
        lambda _, args, kwargs: kept.update(args=args, kwargs=kwargs), with_kwargs=True
    )
    model.eval()
    with torch.no_grad():
        run(model)
    hook.remove()
    args, kwargs = kept["args"], kept["kwargs"]
    X = args[0] if args else kwargs["hidden_states"]

    def moved(x):
        inside = X.clone()
        inside[:, token] = x
        rest = {name: v for name, v in kwargs.items() if name != "hidden_states"}
        rest |= {"past_key_values": None} if "past_key_values" in rest else {}
        out = block(inside, *args[1:], **rest)
        return ((out if torch.is_tensor(out) else out[0]) - inside)[:, token]

    full = torch.autograd.functional.jacobian(moved, X[:, token].clone())
    model.train()
    return torch.stack([full[b, :, b] for b in range(len(X))])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_value_is_that_of_the_definition(family):
    """With bases that power steps brought to their end, over all pairs."""
    model = trained(family)
    penalty = coupling_penalty(model, goal=0.0, pairs=99, k=2, sequences=2, power_steps=60)
    run(model)
    token = drawn_token(model)
    for _ in range(2):  # the second follows the bases of the first
        penalty.step = 0
        found = penalty()
        run(model)
    blocks = [dense(model, n, token) for n in range(1, len(find_blocks(model)) + 1)]
    svds = [torch.linalg.svd(J) for J in blocks]
    values = []
    for at, J in enumerate(blocks):
        for other, (U, _, Vh) in enumerate(svds):
            if at != other:
                g = torch.einsum("bik,bij,bkj->bk", U[..., :2], J, Vh[:, :2])
                values.append((g / svds[at][1][:, :2]).mean(1))
    values = torch.stack(values)
    assert found.item() == pytest.approx(values.square().mean().item(), rel=1e-4)
    assert penalty.alignment == pytest.approx(values.mean().item(), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize(
    ("family", "goal"),
    [
        *(pytest.param(*p.values, "raise", marks=p.marks) for p in FAMILIES),
        ("llama", "lower"),
        ("llama", 0.3),
    ],
)
def test_the_gradient_is_that_of_central_differences(family, goal):
    model = trained(family)
    penalty = coupling_penalty(model, goal=goal, pairs=3, k=3, sequences=2, refresh=10**6)

    def value():
        with TrueFloat64():
            run(model)
            penalty.step = 1  # which draws the same, with the bases of the first call
            return penalty()

    run(model)
    penalty()
    value()
    model.zero_grad()
    value().backward()
    torch.manual_seed(0)
    known = [p for p in model.parameters() if p.grad is not None and p.grad.abs().sum() > 1e-9]
    assert len(known) > 10
    for parameter in known[:: max(1, len(known) // 5)]:
        way = torch.randn_like(parameter)
        way *= parameter.norm().clamp_min(1e-3) / way.norm()
        slope, h = (parameter.grad * way).sum().item(), 1e-5
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter += sign * h * way
            ends.append(value().item())
            with torch.no_grad():
                parameter -= sign * h * way
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=2e-5, abs=1e-9)


class Residual(nn.Module):
    """A block of a toy: x + W2 tanh(W1 x)."""

    def __init__(self, d):
        super().__init__()
        self.up, self.down = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, hidden_states):
        return hidden_states + self.down(torch.tanh(self.up(hidden_states)))


class Toy(nn.Module):
    def __init__(self, d=12):
        super().__init__()
        self.embed = nn.Embedding(20, d)
        self.blocks = nn.ModuleList([Residual(d), Residual(d)])

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return x @ self.embed.weight.T


def toy():
    torch.manual_seed(1)
    return Toy()


def wrapped(model):
    return wrap(model, blocks=model.blocks, forward=lambda m, ids: m(ids))


def driven(goal, model=None, autocast=False, steps=250):
    """The alignment of a toy at the beginning and at the end, pushed by the penalty alone."""
    model = model or toy()
    penalty = coupling_penalty(wrapped(model), goal=goal, pairs=2, k=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    ids, found = IDS % 20, []
    for _ in range(steps):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = 0 * model(ids).sum()
        optimizer.zero_grad()
        (loss + penalty()).backward()
        optimizer.step()
        found.append(penalty.alignment)
    return found[0], np.mean(found[-20:])


@pytest.mark.full
@pytest.mark.parametrize("autocast", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_it_is_raised_and_held(autocast):
    first, top = driven("raise", autocast=autocast)
    assert first < 0.4
    assert top > 0.9
    assert driven(0.5, autocast=autocast)[1] == pytest.approx(0.5, abs=0.05)


@pytest.mark.full
def test_it_is_lowered_to_chance_and_not_beyond():
    model = toy()  # as coupled as blocks can be: the same block twice
    model.blocks[1].load_state_dict(model.blocks[0].state_dict())
    first, last = driven("lower", model)
    assert first > 0.8
    assert abs(last) < 0.05


# ---- what it leaves alone


def test_a_watched_pass_gives_the_same_to_the_bit_and_modes_stay():
    model = trained("llama", torch.float32)
    alone = run(model).logits
    penalty = coupling_penalty(model)
    state = torch.random.get_rng_state()
    assert torch.equal(run(model).logits, alone)
    penalty()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(part.training for part in model.modules())
    penalty.close()
    assert not any(part._forward_pre_hooks for part in model.modules())


def test_what_is_drawn_is_told_by_seed_and_step():
    model = trained("llama")
    values = []
    for seed in (0, 0, 1):
        penalty = coupling_penalty(model, pairs=2, seed=seed)
        run(model)
        values.append(penalty().item())
        penalty.close()
    assert values[0] == values[1] != values[2]


def penalties(batches, **settings):
    """The penalty of each batch of a llama, with bases that power steps brought to their end."""
    model, found = trained("llama"), []
    for ids, sequences in batches:
        penalty = coupling_penalty(model, k=2, sequences=sequences, power_steps=120, **settings)
        for _ in range(2):
            penalty.step = 0
            model(input_ids=ids, attention_mask=torch.ones_like(ids))
            value = penalty().item()
        found.append(value)
        penalty.close()
    return found


@pytest.mark.full
def test_sequences_do_not_see_one_another():
    """The penalty of a batch is the mean of those of its halves, as several processes need it."""
    whole, *halves = penalties([(IDS, 2), (IDS[:1], 1), (IDS[1:], 1)], pairs=2)
    assert whole == pytest.approx(sum(halves) / 2, rel=1e-6)


@pytest.mark.slow
def test_the_first_sequences_count_alone():
    """Whatever comes behind them in the batch; masks and positions go with them."""
    longer = torch.cat([IDS[:1], IDS.flip(1)])
    one, other, alone = penalties([(IDS, 1), (longer, 1), (IDS[:1], 1)], pairs=3)
    assert one == pytest.approx(alone, rel=1e-6) == pytest.approx(other, rel=1e-6)


@pytest.mark.slow
def test_processes_that_share_a_batch_find_what_one_finds():
    """Which sequences, tokens and pairs are looked at does not depend on where they are."""
    ids = torch.cat([IDS, IDS.flip(1)])
    whole, *halves = penalties([(ids, 2), (ids[:2], 1), (ids[2:], 1)], pairs=3)
    assert whole == pytest.approx(sum(halves) / 2, rel=1e-5)


def test_padding_is_not_drawn():
    model = trained("llama")
    penalty = coupling_penalty(model, sequences=2)
    valid = torch.zeros_like(IDS)
    run(model)
    with pytest.raises(InputError):
        penalty(valid)
    valid[:, 2] = 1
    run(model)
    assert torch.isfinite(penalty(valid))


def test_checkpointing_of_transformers_gives_the_same_gradient():
    grads = []
    for reentrant in (None, False, True):
        model = trained("llama", torch.float32)
        if reentrant is not None:
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
        penalty = coupling_penalty(model, pairs=3)
        (run(model).logits.square().mean() + penalty()).backward()
        grads.append(
            torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        )
    for other in grads[1:]:
        torch.testing.assert_close(other, grads[0], rtol=1e-4, atol=1e-7)
