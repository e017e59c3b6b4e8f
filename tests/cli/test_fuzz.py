"""Hostile and careless input: whatever comes, it is told in one line and touches nothing else."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args, get_origin

import pytest
from cases import random_result
from command_line import commands
from hostile import TEXTS, cases
from hypothesis import given
from hypothesis import strategies as st
from mutations import respoken, spoilt
from sweep_table import sweep_of, zoo

from coupling_core import DEFINITIONS, CouplingError, InputError, Request, Store, measure
from coupling_core.analysis.findings import Question, find, first_question
from coupling_core.base import records
from coupling_core.base.kinds import kinds
from coupling_core.base.records import MEASURES, ModelSubset
from coupling_core.cli import main
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.experiments.sweeps import make, read, read_table, write_table
from coupling_core.experiments.sweeps.definition import parse
from coupling_core.experiments.sweeps.report import report
from coupling_core.experiments.sweeps.table import COLUMNS
from coupling_core.sources.suites import suites
from explorer.frame.contents import LINKS, PAGES

PROMPT = "The cat sat"
SWEEP = """
name = "few"
k = [4]
[[models]]
model = "MODEL"
[[models]]
suite = "mini-64"
steps = [0, 256]
[[prompts]]
text = "The cat sat"
"""
RESULTS = [random_result(seed=seed) for seed in (1, 2)]
KEYS = [result.key for result in RESULTS]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    """A store with what the plain commands ask for, so that few cases measure anything."""
    root = tmp_path_factory.mktemp("shelf")
    store = Store(root, layers=(), gallery=root / "none")
    for result in RESULTS:
        store.put(result)
    for kind in sorted(kinds().keys() - {"fixed-input", "fixed-output"}):
        k = {"k": 4} if kind in ("depth", "self") else {}
        measure(Request(PROMPT, model=str(folder), kind=kind, **k), store)
    return root


class House:
    """A home, a store and a working folder, and a place beside them that nobody may touch."""

    def __init__(self, root: Path, shelf: Path, model: Path) -> None:
        self.root = root
        self.store, self.home, self.cwd = root / "store", root / "home", root / "a" / "b" / "cwd"
        shutil.copytree(shelf, self.store)
        for folder in (self.home, self.cwd, root / "secret"):
            folder.mkdir(parents=True)
        (root / "secret" / "diary").write_text("mine")
        (self.cwd / "prompts.txt").write_text(f"{PROMPT}\n")
        (self.cwd / "few.toml").write_text(SWEEP.replace("MODEL", str(model)))

    def listing(self) -> dict[Path, tuple[int, int]]:
        """Every file outside the store and the home, with size and time."""
        of = {path: path.lstat() for path in self.root.rglob("*")}
        return {
            path: (stat.st_size * path.is_file(), path.is_dir() or stat.st_mtime_ns)
            for path, stat in of.items()
            if not {self.store, self.home} & {path, *path.parents}
        }


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, shelf: Path, folder: Path) -> Any:
    """Make a new house, work in it, offline, and tear it down again."""

    @contextmanager
    def built() -> Iterator[House]:
        house = House(tmp_path_factory.mktemp("house"), shelf, folder)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(house.home))
            patch.setenv("COUPLING_HOME", str(house.home / "coupling"))
            patch.setenv("COUPLING_STORE", str(house.store))
            patch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(house.home / "hub"))
            patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
            patch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something was started"))
            patch.chdir(house.cwd)
            yield house
        shutil.rmtree(house.root)

    return built


def run(arguments: list[str]) -> tuple[Any, str, str]:
    """Run a command line as a terminal would, whose output takes no halves of characters."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["coupling", *arguments])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as left:
            main()
        out.flush()
        err.flush()
    return left.value.code, *(stream.buffer.getvalue().decode() for stream in (out, err))


def require_plain(answer: tuple[Any, str, str]) -> None:
    """A status that is documented, and on failure one line that says why."""
    status, _, err = answer
    assert status in (0, 1, 2)
    assert "Traceback" not in err
    if status:
        assert err.splitlines()[-1].startswith(("error: ", "looked at"))


# ---- command lines


COMMANDS = commands()
ASKED = {"--model": "MODEL", "--prompt": PROMPT}
PLAIN: dict[str, dict[str, str]] = {
    **{name: ASKED | {"--k": "4"} for name in ("depth", "tokens", "graph")},
    **{name: ASKED for name in ("trajectory", "whatif", "spectrum", "perturbation", "directions")},
    "compare": {"a": KEYS[0], "b": KEYS[1]},
    "training": {"--prompt": EXAMPLES[0], "--steps": "256"},
    **{name: {} for name in ("models", "jobs", "runs list", "suite list")},
    "prompts": {"source": "prompts.txt"},
    "health": {"--url": "http://127.0.0.1:1"},
    "bench": {"name": "nonsense"},
    "runs show": {"key": KEYS[0]},
    **{name: {"keys": KEYS[0]} for name in ("runs verify", "runs rm")},
    "runs export": {"out": "all.zip"},
    "runs import": {"file": "prompts.txt"},
    "suite new": {"name": "mini-64", "--n-blocks": "99"},
    "sweep new": {"out": "new.toml"},
    "sweep run": {"file": "few.toml", "--dry-run": ""},
    "sweep status": {"file": "few.toml"},
    "sweep report": {"file": "few.toml", "--out": "x.html"},
}
"""What works, or ends at once, of each command: options, and arguments by their names."""
PATHS = {"--out", "--store", "--prompts", "--folder", "out", "file", "source", "store"}
WRITTEN = {"--out", "--store", "out"}
SOME_PATHS = st.sampled_from(
    (
        *("", ".", "..", "x", "x.npz", "x.csv", "x.html", "x.safetensors", "x.zip", "x.graphml"),
        *("../x.npz", "../../x.csv", "../../../secret/x.npz", "../../../secret/diary", "x.svgz"),
        *("../../../store/x.zip", "~", "~/x.npz", "prompts.txt/x.npz", "-"),
        *(".npz", "x.npz/", "a\nb.npz", "\udcff.npz", "a\0.npz", "x" * 300 + ".npz", "é.csv"),
        *("/dev/null/x.npz", "/proc/x.npz", "/proc/self/mem", "/dev/full", "prompts.txt"),
        *("few.toml", "../cwd/few.toml", "few.toml/"),
    )
) | st.text(max_size=20).filter(lambda text: "/" not in text and text != "..")
URLS = st.sampled_from(
    (
        *("", "x", "http://", "https://127.0.0.1:1", "http://127.0.0.1:99999", "http://[::1"),
        *("file:///etc/passwd", "ftp://127.0.0.1:1", "127.0.0.1:1", "http://127.0.0.1:1/\n"),
        *("http://127.0.0.1:1/é", "http://127.0.0.1:1/ x", "http://127.0.0.1:x", "http://\0"),
    )
)


def values(words: str, name: str, parameter: Any) -> st.SearchStrategy[str]:
    """What may be given to a parameter, mostly what it does not take."""
    if name in PATHS:
        return SOME_PATHS
    if name == "--url":
        return URLS
    if words == "bench":  # none of them may start it
        return TEXTS.filter(lambda text: not text.startswith("-"))
    kind = parameter.type_descriptor.annotation
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    return TEXTS | st.sampled_from(choices) if choices else TEXTS


def title(parameter: Any) -> str:
    """An option by its longest spelling, an argument by its name."""
    return next((name for name in parameter.opts if name.startswith("--")), parameter.name)


@st.composite
def command_lines(draw: Any) -> tuple[list[str], set[str]]:
    """A command line with some of its values replaced, and the paths that it may write to."""
    words = draw(st.sampled_from(sorted(PLAIN)))
    parameters = {title(one): one for one in COMMANDS[words].params}
    given = dict(PLAIN[words])
    flags = {name for name, one in parameters.items() if getattr(one, "is_flag", False)}
    changed = st.sampled_from(sorted(parameters.keys() - {"--help"}))
    for name in draw(st.lists(changed, min_size=1, max_size=3)) if parameters else ():
        given[name] = "" if name in flags else draw(values(words, name, parameters[name]))
    line = words.split()
    for name, value in given.items():
        if not name.startswith("--"):
            line.append(value)
        elif name in flags:
            line.append(name)
        else:
            line += [f"{name}={value}"] if draw(st.booleans()) else [name, value]
    return line, {value for name, value in given.items() if name in WRITTEN}


@pytest.mark.full
@cases(27)
@given(command_lines())
def test_no_command_line_ends_in_a_traceback_or_touches_what_it_does_not_name(
    build: Any, folder: Path, drawn: tuple[list[str], set[str]]
) -> None:
    line, written = drawn
    with build() as house:
        before = house.listing()
        require_plain(run([part.replace("MODEL", str(folder)) for part in line]))
        named = {Path(os.path.normpath(house.cwd / path)) for path in written if "\0" not in path}
        for path in {path for path, _ in before.items() ^ house.listing().items()}:
            assert any(one in (path, *path.parents) or path in one.parents for one in named), path


@pytest.mark.full
def test_what_was_found_stays_mended(build: Any, folder: Path) -> None:
    depth = ["depth", "--prompt", "x"]
    lines = [
        *(["depth", "--prompt", "a\udcff"], [*depth, "--out", "x" * 300 + ".npz"]),
        *([*depth, "--model", model] for model in ("m\udcff", "~nobody/x", "a" * 5000)),
        [*depth, "--model", "a/b", "--revision", "\ud800"],
        ["health", "--url", "http://127.0.0.1:1/\n"],
        *(["runs", "import", "\udcff"], ["runs", "list", "--store", "x" * 300]),
    ]
    with build() as house:
        for line in lines:
            answer = run(line)
            assert answer[0] in (1, 2), line
            require_plain(answer)
        asked = ["depth", "--model", str(folder), "--prompt", PROMPT, "--k", "4"]
        assert run([*asked, "--out", "\udcff.npz"])[0] == 0  # a name that is no text
        assert (house.cwd / "\udcff.npz").is_file()


# ---- links


TABLE = sweep_of(zoo()[:4], prompts=2)
CHOICES = [group for group in vars(records).values() if isinstance(group, tuple)]
WORDS = (*DEFINITIONS, *suites(), *KEYS, "0.1", *(str(one) for of in CHOICES for one in of))
QUERIES = st.dictionaries(
    st.sampled_from(sorted(LINKS.fields)) | TEXTS, TEXTS | st.sampled_from(WORDS), max_size=6
)


@cases(41)
@given(QUERIES)
def test_any_link_leads_to_a_state_that_can_be_used(query: dict[str, str]) -> None:
    chosen, problems = LINKS.read(query)
    again, none = LINKS.read(LINKS.write(chosen))
    assert (LINKS.write(again), none) == (LINKS.write(chosen), ())
    assert len(problems) <= len(query)
    states = {
        title: page.state(**{field.name: chosen[field.name] for field in fields(page.state)})
        for title, page in PAGES.items()
    }
    training, sweep = states["Training"], states["Generalization"]
    for use in (
        *(part for one in states.values() for part in (one.request, one.view)),
        *(states["Start"].path_view, training.suite_request),
        lambda: training.suite_view(8),
        lambda: states["Depth"].mosaic_blocks(30),
        lambda: states["Tokens"].token_request(1, 2),
        lambda: find(TABLE, Question(sweep.sweep_k or 4, sweep.measure)),
    ):
        with suppress(InputError):
            use()


# ---- sweeps


TABLES: dict[str, Any] = {
    **{"name": "few", "title": "Few", "k": [4, 0.5], "kinds": ["depth"], "timeout": 5, "token": -1},
    "models": [
        {"model": "nobody/nothing", "untrained": [0], "family": "none", "revisions": ["main"]},
        {"suite": "mini-64", "steps": [0, 256]},
    ],
    "prompts": [{"text": "The cat sat"}, {"file": "own.txt", "sample": 1, "seed": 3}],
    "slurm": {"jobs": 2, "memory": "1GB", "directives": ["--x"]},
}


@cases(8)
@given(st.randoms())
def test_any_sweep_is_planned_or_refused(build: Any, random: Random) -> None:
    with build() as house:
        (house.cwd / "own.txt").write_text("Water boils\n")
        before = house.listing()
        with suppress(CouplingError):
            plan = make(parse(respoken(random, TABLES), house.cwd / "few.toml"))
            assert len(list(plan.items())) == len(plan)
            assert json.dumps(plan.described)
            assert Path(plan.id).name == plan.id
            plan.missing(Store())
        (house.cwd / "few.toml").write_bytes(spoilt(random, SWEEP.encode()))
        with suppress(CouplingError):
            read(house.cwd / "few.toml")
        assert house.listing().keys() == before.keys()


CELLS = st.dictionaries(
    st.sampled_from(COLUMNS), TEXTS.map(lambda text: text.encode(errors="replace").decode())
)


@cases(6)
@given(st.randoms(), CELLS, st.sampled_from(MEASURES), st.sampled_from(get_args(ModelSubset)))
def test_any_table_is_read_and_told_or_refused(
    random: Random, cells: dict[str, str], measure: Any, subset: Any
) -> None:
    table = TABLE.reindex(columns=list(COLUMNS)).astype(object)
    for column, said in cells.items():
        table.loc[random.choice(table.index), column] = said
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_table(path, table)
        if random.random() < 0.5:
            path.write_bytes(spoilt(random, path.read_bytes()))
        with suppress(InputError):
            table = read_table(path)
            write_table(path, table)
            assert list(read_table(path)["prompt"]) == list(table["prompt"])
            asked = replace(first_question(table), measure=measure, subset=subset)
            assert find(table, asked).shows
            assert report({"name": "x"}, table, asked)
