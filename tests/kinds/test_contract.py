"""What every command that measures does alike, by the registry of kinds, on a tiny model."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray
from cases import content
from command_line import printed, refusal

from coupling_core import Request, Store, load, measure
from coupling_core.analysis import exports
from coupling_core.base.edits import every_edit
from coupling_core.base.kinds import kind_of, kinds
from coupling_core.cli.shown import figures_of
from coupling_core.engine.directions.readouts import NULL
from coupling_core.engine.spectrum import SHUFFLES
from coupling_core.measuring import cost
from coupling_core.measuring.forecast import Probe

PROMPTS = ("The cat sat on the mat", "the dog lay down")
SIZES = {
    **dict.fromkeys(("block", "basis", "slot", "first", "last", "factor"), 4),
    **dict.fromkeys(("token", "other_token", "outcome"), 6),
    **{"state": 5, "neighbour": 3, "d": 32, "part": 2, "component": 3, "edit": 42, "order": 8},
    **{"way": 3, "size": 8, "draw": 32, "readout": 3, "sign": 2, "place": 5, "side": 2},
}
"""How long the axes are: the model has 4 blocks of width 32, and the first prompt 6 tokens."""
FIRST = {"state": 0} | dict.fromkeys(
    ("block", "basis", "token", "other_token", "k", "component"), 1
)
"""Where the numbers along an axis begin."""
PARTS = {
    "compose": ["compose"],
    "cost": ["operations", "memory"],
    "views": ["verdict"],
    "command": ["summary"],
}
"""Of a kind's folder, with what other rooms call."""
TOKEN_PAIR = ("token", "other_token")


def named(**axes: str) -> dict[str, tuple[str, ...]]:
    """Axes by arrays: `block_k="a b"` is of the arrays a and b."""
    return {name: tuple(of.split("_")) for of, names in axes.items() for name in names.split()}


@dataclass(frozen=True)
class Case:
    """How a kind is asked for, and what its command gives."""

    words: tuple[object, ...]  # of the command line, but for model and prompt
    said: Callable[[Any], Any]  # the numbers of JSON that are compared with
    wanted: Callable[[Any], Any]  # those of the result in Python
    axes: dict[str, tuple[str, ...]]  # of each array of a file, as the design names them
    cells: tuple[str, ...]  # columns of the table that name a cell of the array `number`
    number: str  # that array, which is a column too
    row: str  # the key of the means over many prompts that the table of prompts has as a column
    changes: dict[str, Any] = field(default_factory=dict)  # of the request
    k: int = 32  # how long the axis k is
    lacks: tuple[str, ...] = ()  # figures of its command that there are not of this result


OF_TOKENS = named(
    token="positions tokens token_ids",
    block_token="rank certified",
    block_token_k="singular_values",
) | dict.fromkeys(("coupling", "chance", "corrected", "pairs"), TOKEN_PAIR)


def of_tokens(kind: str, **changes: int) -> Case:
    return Case(
        ("tokens", "--kind", kind, "--k", 4),
        lambda said: said["corrected"],
        lambda result: result.scores(k=4).corrected,
        OF_TOKENS,
        TOKEN_PAIR, "corrected", "corrected", {"k": 4} | changes, k=4,
        lacks=("mosaic", "spectrum"),  # of the mean over all pairs of blocks
    )  # fmt: skip


CASES = {
    "depth": Case(
        ("depth", "--k", 4),
        lambda said: said["corrected"],
        lambda result: result.scores(k=4).corrected,
        named(
            block="blocks certified", token="tokens token_ids", block_k="singular_values",
            block_basis="coupling chance corrected", block_basis_u_v="A",
        ),
        ("block", "basis"), "corrected", "corrected", {"k": 4}, k=4,
    ),
    "self": of_tokens("self"),
    "fixed-input": of_tokens("fixed-input", token=1),
    "fixed-output": of_tokens("fixed-output"),
    "trajectory": Case(
        ("trajectory",),
        lambda said: said["norms"],
        lambda result: result.norms,
        named(
            token="line_shape expodistance equidistance tokens token_ids",
            block_token="step_lengths growth one_step rolled_out",
            state_token="norms windowed_line_shape entropy",
            state_token_component="pca", component="explained",
        ),
        ("token",), "line_shape", "line_shape",
        lacks=("line-shape-by-depth",),  # for which 4 blocks are too few
    ),
    "what-if": Case(
        ("whatif",),
        lambda said: said["interchange"][0][2],
        lambda result: result.divergence[result.edits.index("interchange(1,3)")].mean(),
        named(
            block="skip repeat blocks", factor="factors", factor_block="damp",
            slot_block="replace interchange", edit="edits", outcome="own_loss",
            edit_outcome="divergence loss stays", token="tokens token_ids",
            neighbour_token="exchange_true exchange_predicted exchange_cosine",
        ),
        ("edit",), "stays", "interchange_kl",
    ),
    "spectrum": Case(
        ("spectrum",),
        lambda said: said["blocks"]["departure"],
        lambda result: result.departure,
        named(
            block_d_part="eigenvalues", block_d="condition uncertainty certain product_values",
            block="residual jacobian_norm radius outside certain_share departure asymmetry "
            "mean_u_dot_v product_participation product_effective_rank blocks",
            block_k="singular_values u_dot_v", first_last="participation", d="exponents",
            order_d="shuffled_values", token="tokens token_ids",
        ),
        ("block",), "departure", "departure",
    ),
    "perturbation": Case(
        ("perturbation",),
        lambda said: [ends[1] for ends in said["cosine"]["isotropic"]],
        lambda result: np.median(result.cosine[0, :, :, -1], axis=1),
        named(
            way_state="radius", state="rounding", size="noise_sizes", way="ways",
            way_size_draw_state="distance cosine linear_distance linear_cosine error blurred",
            token="tokens token_ids",
        ),
        ("way", "size", "state"), "cosine", "cosine",
    ),
    "directions": Case(
        ("directions",),
        lambda said: said["singular_values"],
        lambda result: result.singular_values,
        named(
            block_d_k="u v", block_k="singular_values gap tied", block_side="rounding",
            block="jacobian_norm rank next_singular_value track_chance blocks certified",
            readout_block_k="peakedness beyond_chance", readout_block="floor count",
            readout_block_k_sign_place="top top_z top_cosine", readout="readouts", side="sides",
            token="tokens token_ids",
        )
        | {"A": ("block", "basis", "u_k", "v_k")},
        ("readout", "block", "component"), "peakedness", "writes_beyond",
    ),
}  # fmt: skip
"""By kind."""


@pytest.fixture(params=CASES)
def kind(request):
    return request.param


@pytest.fixture
def case(kind):
    return CASES[kind]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A store in which what one test measured is there for the next."""
    return Store(tmp_path_factory.mktemp("shelf"), gallery=tmp_path_factory.mktemp("none"))


@pytest.fixture
def measured(shelf, folder):
    """The result of a kind and of one of the prompts, through Python."""
    return lambda kind, prompt=PROMPTS[0]: measure(
        Request(prompt, model=str(folder), kind=kind, **CASES[kind].changes), shelf
    )


@pytest.fixture
def command(run, folder, case):
    """The command of the kind, on the tiny model."""
    return lambda *words: run(*case.words, "--model", folder, *words)


def numbers(values):
    """JSON has null where there is no number."""
    return np.array(values, dtype=float)


def test_every_kind_is_held_to_the_contract_and_has_its_parts():
    assert CASES.keys() == kinds().keys()
    for kind in kinds().values():
        for part, names in PARTS.items():
            assert all(callable(getattr(kind.part(part), name)) for name in names), kind.name


def times(count, parts):
    return {name: count * once for name, once in parts.items()}


def test_operations_are_those_counted_by_hand():
    """Of two blocks of width 8 with 100 parameters each, and 20 tokens to choose from; 3 are read.

    The edits of two blocks: 2 skip, 2 repeat, 8 damp, 2 replace and 1 interchanges. Block 1 edited,
    2 blocks run for each of 5 factors, 2 if replaced, 2 if interchanged, and 1 if skipped; block 2
    edited, 1 block for each factor, and 1 if replaced.
    """
    found = Probe("", "", 360, "", None, 2, blocks=2, width=8, block_parameters=100, causal=True)
    run, edits, noise = 5 * 2 + 2 + 2 + 1 + 5 + 1, 2 + 2 + 8 + 2 + 1, 3 * 8 * 32
    assert edits == len(every_edit(2))
    tails = {"tails": 2 * 3 * 20 * 8 * edits, "logits": 3 * 20 * edits}
    once = {"replays": 2 * 3 * 100, "scores": 4 * 9 * 8}  # of a block that is run
    counted = {
        "what-if": {"step": run, "products": 8 * 3 * 100 * 2} | tails | times(run, once),
        "directions": {"readouts": 2 * (20 * 8) * 3 * (2 * 8 + NULL), "row": 2},
        "perturbation": times(2 * noise, once | {"linear": 2 * 8 * 8}),
        "spectrum": {"eigenvalues": 25 * 8**3 * 2, "products": 2 * 8**3 * (4 + 2 * (SHUFFLES + 2))},
    }
    for kind, parts in counted.items():
        request = Request("x", kind=kind)
        told = cost.parts(request, found, 3)
        assert (parts | {"forward": 2 * 3 * 360}).items() <= told.items(), kind
        assert ("pairs" in told) == (kind == "directions")  # of blocks with one another


def test_json_says_what_it_took_and_the_second_time_it_is_stored(
    command, case, kind, measured, shelf
):
    for entry in shelf.entries():
        if entry.request.kind == kind:
            shelf.remove(entry.key)
    asked = ("--prompt", PROMPTS[0], "--store", shelf.root, "--json")
    first, second = (printed(command(*asked)) for _ in range(2))
    assert (first.pop("stored"), second.pop("stored")) == (False, True)
    assert first == second
    result = measured(kind)  # Python asks for the same
    assert first["key"] == result.key
    assert first["seconds"] > 0
    assert first["load_seconds"] >= 0  # none for a model that is in memory
    assert (first["model"], first["tokens"]) == ("tiny-llama", list(result.tokens))
    np.testing.assert_allclose(numbers(case.said(first)), case.wanted(result), rtol=1e-4, atol=1e-6)


def test_a_table_is_printed_for_people(command, kind, measured, shelf):
    result = measured(kind)
    status, out, err = command("--prompt", PROMPTS[0], "--store", shelf.root)
    assert (status, err) == (0, "")
    assert all(part in out for part in ("tiny-llama", repr(PROMPTS[0]), result.key))
    cells = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    assert len([row for row in cells if len(row) > 2]) > 2  # of a fact there are two


def test_files_have_the_axes_of_the_design_and_agree(
    command, case, kind, measured, shelf, tmp_path
):
    result = measured(kind)
    asked = ("--prompt", PROMPTS[0], "--store", shelf.root, "--out")
    for ending in ("npz", "nc", "csv", "parquet", "safetensors"):
        status, out, err = command(*asked, f"r.{ending}")
        assert (status, f"r.{ending}" in out) == (0, True), err
    sizes = SIZES | dict.fromkeys(("k", "u", "v", "u_k", "v_k"), case.k)

    with np.load(tmp_path / "r.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    assert arrays.keys() == case.axes.keys()
    expected = {name: tuple(sizes[axis] for axis in axes) for name, axes in case.axes.items()}
    assert {name: values.shape for name, values in arrays.items()} == expected

    with xarray.open_dataset(tmp_path / "r.nc") as dataset:
        assert {name: dataset[name].dims for name in arrays} == case.axes
        for name, values in arrays.items():
            np.testing.assert_array_equal(dataset[name].to_numpy().astype(values.dtype), values)
        for axis, first in FIRST.items():
            if axis in dataset.dims:
                assert dataset[axis].to_numpy().tolist() == list(range(first, first + sizes[axis]))
        assert dataset.attrs["key"] == result.key

    text, binary = pd.read_csv(tmp_path / "r.csv"), pd.read_parquet(tmp_path / "r.parquet")
    assert list(text) == list(binary)
    numeric = list(binary.select_dtypes("number"))
    pd.testing.assert_frame_equal(text[numeric], binary[numeric], check_dtype=False)
    assert set(text["model"]) == {"tiny-llama"}
    found = arrays[case.number]
    if kind == "perturbation":  # of the draws a table has the median
        found = np.median(found, axis=2)
    if kind == "what-if":  # of the tokens, the mean
        found = found.mean(1)
    for cell, place in zip(
        case.cells, np.indices(found.shape).reshape(found.ndim, -1), strict=True
    ):
        if cell in FIRST:
            np.testing.assert_array_equal(text[cell], place + FIRST[cell])
    np.testing.assert_allclose(text[case.number], found.ravel())

    assert content(load(tmp_path / "r.safetensors")) == content(result)
    assert command(*asked, "-")[1].splitlines() == (tmp_path / "r.csv").read_text().splitlines()


def test_every_figure_of_the_command_is_drawn(command, case, kind, measured, shelf, tmp_path):
    measured(kind)
    names = figures_of(kind_of(kind).command)
    page = tmp_path / "r.html"
    asked = ("--prompt", PROMPTS[0], "--store", shelf.root, "--out", page)
    for words in [("--figure", name) for name in names] if len(names) > 1 else [()]:
        status, _, err = command(*asked, *words)
        lacks = bool({*words} & {*case.lacks})
        assert (status, page.exists()) == ((2, False) if lacks else (0, True)), err
        if not lacks:
            assert "Plotly.newPlot" in page.read_text()
            assert 'aria-label=""' not in page.read_text()
            page.unlink()


def test_prompts_give_a_row_each(command, case, kind, measured, shelf, tmp_path):
    listed = tmp_path / "own.csv"
    listed.write_text("prompt,topic\n" + "".join(f"{p},t{i}\n" for i, p in enumerate(PROMPTS)))
    view = kind_of(kind).view(k=4) if kind_of(kind).has_k else kind_of(kind).view()
    rows = [exports.row(measured(kind, p), view) for p in PROMPTS]
    asked = ("--prompts", listed, "--store", shelf.root)
    said = printed(command(*asked, "--json"))
    assert (said["n"], said["stored"], said["seconds"]) == (2, True, 0)
    assert [(one["line"], one["prompt"]) for one in said["prompts"]] == [*enumerate(PROMPTS, 2)]
    for one, row in zip(said["prompts"], rows, strict=True):
        assert numbers([one["mean"][name] for name in row]) == pytest.approx(
            numbers(list(row.values())), rel=1e-5, nan_ok=True
        )
    wanted = [row[case.row] for row in rows]
    assert said["over_prompts"][case.row]["mean"] == pytest.approx(np.mean(wanted), rel=1e-5)
    assert command(*asked, "--out", "r.csv")[0] == 0
    table = pd.read_csv(tmp_path / "r.csv")
    assert (table["prompt"].tolist(), table["topic"].tolist()) == ([*PROMPTS], ["t0", "t1"])
    assert table[case.row].tolist() == pytest.approx(wanted, rel=1e-5)


WRONG = (
    "--prompt x --prompts f.txt | --prompt x --device abacus | --prompt x --dtype float8 | "
    "--prompt x --out r.gif | --prompt x --store /proc/store"
)
"""With every command that measures."""
WRONG_TOO = (
    "--prompt '' | --prompt x --revision main | --prompt x --untrained -1 | --prompt x --colour red"
    " | --prompt x --out none/r.npz | --prompt x --out /proc/r.npz | --prompt x --out folder.npz"
)
"""What is found out in one place for all of them."""


@pytest.mark.parametrize(
    "kind", sorted(CASES.keys() - {"fixed-input", "fixed-output"})
)  # as `self`
def test_wrong_input_is_one_line_with_status_2_and_stores_nothing(
    command, run, case, kind, tmp_path
):
    (tmp_path / "folder.npz").mkdir()
    for options in [*WRONG.split(" | "), *(WRONG_TOO.split(" | ") if kind == "depth" else ())]:
        assert refusal(command(*shlex.split(options))), options
    status, out, err = command("--prompt", "x " * 65)  # `tokens` says first how long that takes
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: the prompt has 130 tokens")
    assert refusal(command())
    for model in ("nobody", tmp_path):
        assert refusal(run(*case.words, "--model", model, "--prompt", "x"))
    assert not Store(gallery=tmp_path / "none").entries()
