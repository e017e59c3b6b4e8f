"""What the documents say is so: commands and examples run as they stand, names and links exist."""

import io
import re
import shlex
from dataclasses import fields
from doctest import NORMALIZE_WHITESPACE, SKIP, DocTestParser, DocTestRunner
from pathlib import Path
from typing import Any

import outputs
import pytest
import tiny
from cases import EVERY_KIND, random_result
from documents import first_cells
from sweep_table import sweep_of, zoo
from training import SUITE

from coupling_core import Course, PromptSource, Question, Request, Store, compare, find, measure
from coupling_core.analysis.by_step import step_columns
from coupling_core.analysis.exports import frame
from coupling_core.analysis.graph import EDGE_COLUMNS
from coupling_core.base.definitions import DEFINITIONS
from coupling_core.base.kinds import kind_of
from coupling_core.base.records import View
from coupling_core.cli import compare as compare_command
from coupling_core.cli import training as training_command
from coupling_core.cli.graph import Graphs, Look
from coupling_core.cli.options import Scores
from coupling_core.cli.reports import summary
from coupling_core.cli.sweep import _answer
from coupling_core.experiments.sweeps.definition import Models, Slurm, Sweep
from coupling_core.experiments.sweeps.table import COLUMNS, OF_ONE_KIND
from coupling_core.sources.prompts import BENCHMARKS

ROOT = Path(__file__).parents[2]
FIGURES = (ROOT / "docs" / "figures.md").read_text()
SWEEPS = (ROOT / "docs" / "sweeps.md").read_text()
SHIPPED_SWEEPS = sorted((ROOT / "sweeps").glob("*.toml"))
README = (ROOT / "README.md").read_text()
PYTHON = (ROOT / "docs" / "python.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST_OF_README = 8192
PROMPT = re.search(r'`(--prompt "[^"]*")`', FIGURES)[1]
COMMANDS = re.findall(r"`coupling ([^`]*--out [^`]*)`", FIGURES)


def arguments(command: str, folder: Path) -> list[str]:
    """What comes after `coupling`, with HTML in place of SVG, which needs no Chromium."""
    keys = [entry.key for entry in Store().entries() if entry.read_only and "-v24" in entry.key]
    for name, key in zip(("KEY_A", "KEY_B"), keys, strict=False):
        command = command.replace(name, key)
    command = command.replace("$P", PROMPT).replace("--image ", f"--image {ROOT}/")
    *words, name = shlex.split(command)
    return [*words, str(folder / name.replace(".svg", ".html"))]


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_table_writes_its_figure(run, tmp_path, command):
    words = arguments(command, tmp_path)
    status, _, error = run(*words)
    assert status == 0, error
    assert Path(words[-1]).stat().st_size > 10_000


def blocks(text: str, language: str) -> list[str]:
    """What stands between fences of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_readme_is_short_and_rows_have_commands_and_sections_examples():
    assert len(README.encode()) <= MOST_OF_README
    assert [each for each in blocks(PYTHON, "python") if not each.startswith(">>> ")] == []
    rows = [line for line in FIGURES.splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(COMMANDS)


@pytest.mark.full
@pytest.mark.real
def test_the_first_figure_of_the_readme_is_drawn(run, tmp_path):
    (command,) = (line for line in blocks(README, "sh") if "coupling depth" in line)
    _, *words, name = shlex.split(command)
    drawn = tmp_path / name.replace(".png", ".html")  # which needs no Chromium
    status, _, error = run(*words, drawn)
    assert status == 0, error
    assert drawn.stat().st_size > 10_000


@pytest.mark.real
def test_the_lines_of_python_in_the_readme_print_the_mean_that_it_names(capsys):
    (program,) = blocks(README, "python")
    exec(program, {})
    printed = capsys.readouterr().out.strip()
    assert f"That mean is {printed} here" in README


def sections() -> dict[str, str]:
    """The sections of `python.md` by their titles."""
    _, *found = re.split(r"^## ", PYTHON, flags=re.MULTILINE)
    return dict(section.split("\n", 1) for section in found)


def is_run(section: str) -> bool:
    """Whether it has an example that measures nothing anew."""
    return any(SKIP not in each.options for each in DocTestParser().get_examples(section))


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("title", [title for title, text in sections().items() if is_run(text)])
def test_the_examples_of_a_section_give_what_they_say(title, monkeypatch):
    monkeypatch.chdir(ROOT)
    line = PYTHON[: PYTHON.index(f"## {title}\n")].count("\n") + 1
    examples = DocTestParser().get_doctest(sections()[title], {}, title, "docs/python.md", line)
    said = io.StringIO()
    failed, tried = DocTestRunner(optionflags=NORMALIZE_WHITESPACE).run(examples, out=said.write)
    assert tried
    assert not failed, said.getvalue()


def test_the_definitions_are_those_that_there_are():
    text = sections()["Definitions"]
    assert named(text) == {"definition=", *DEFINITIONS}
    closed = {name for name, each in DEFINITIONS.items() if each.floor is not None}
    sampled = set(re.findall(r"^\| `(\w+)`.*\| sampled \|$", text, re.MULTILINE))
    assert sampled == DEFINITIONS.keys() - closed


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked to."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_leads_to_something_and_the_readme_names_every_document():
    broken = []
    for page in PAGES:
        found = re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", page.read_text())
        links = [link or image for link, image in found]
        for name, _, anchor in (link.partition("#") for link in links if "://" not in link):
            target = page.parent / name if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append((page.name, name, anchor))
    assert broken == []
    assert [page.name for page in PAGES[1:] if page.name not in README] == []


def named(text: str) -> set[str]:
    """What stands in code in the first cells of the tables of a text."""
    cells = (line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    return {name.strip("[]") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_each_table_on_sweeps_names_every_key_and_no_other():
    tables = [
        ("## What the file may say", "In `[[models]]`", Sweep.model_fields),
        ("In `[[models]]`", "In `[[prompts]]`", Models.model_fields),
        ("In `[[prompts]]`", "In `[slurm]`:", [field.name for field in fields(PromptSource)]),
        ("In `[slurm]`:", "## Prompts", Slurm.model_fields),
        ("## Prompts", "## Models", BENCHMARKS),
        ("## What comes of it", "## How large", {*COLUMNS} - {*OF_ONE_KIND}),
        ("## The sweeps that come", "Each says", [p.name for p in SHIPPED_SWEEPS]),
    ]
    for begin, end, keys in tables:
        text = SWEEPS[SWEEPS.index(begin) :]
        assert named(text[: text.index(end)]) == set(keys), begin


# ---- columns of tables and keys of JSON


def seen() -> dict[str, tuple[Any, Any]]:
    """A result of each command, and how it is looked at."""
    tokens = measure((3, 1, 4), kind="self", block=1, k=4, model=tiny.model("llama"))
    found = {}
    for result in (*(make() for make in EVERY_KIND), tokens):
        kind = kind_of(result.request.kind)
        view = kind.view(k=result.default_k) if kind.has_k else kind.view()
        found[kind.command] = result, view
    return found


def test_what_results_give_out_is_written_down_as_it_is():
    text = outputs.text()
    assert text == outputs.FILE.read_text(), "make docs writes it anew"
    assert outputs.figure_names() == outputs.FIGURE_NAMES.read_text()
    for command, looked in seen().items():
        section = text.split(f"## {command}\n")[1].split("\n## ")[0]
        keys = {*summary(*looked, stored=True)} - {*outputs.OF_ALL}
        assert named(section) >= {*frame(*looked), *keys}, command


def test_columns_and_keys_of_what_several_results_give_are_told_and_no_other():
    pair = compare(random_result(), random_result(seed=2), k=3)
    columns = {"graph": EDGE_COLUMNS, "compare": tuple(pair.to_pandas())}
    of_steps = [name for name, one in step_columns().items() if one.kind != "spectrum"]
    columns["training"] = ("suite", "step", *of_steps)
    told = first_cells("tables.md")
    assert {name: sorted(told[name]) for name in told if name} == {
        command: sorted(names) for command, names in columns.items()
    }
    told = {title: set(names) for title, names in first_cells("json.md").items() if title}
    steps = {0: random_result(), 4: random_result(seed=2)}
    result, view = steps[0], View(steps[0].default_k)
    look = Look().drawn(Scores())
    graph = Graphs("graph", None, "graph", look, dots="corrected").summary(result, view)
    of_depth = named(outputs.text().split("## depth\n")[1].split("\n## ")[0])
    of_depth -= {"next_tokens", "mean", "coupling", "chance", "corrected", "certified", "locality"}
    assert set(graph) - {*outputs.OF_ALL} - of_depth == told.pop("graph")
    pair = compare(result, random_result(seed=2), view)
    assert set(compare_command._summary(pair)) == told.pop("compare")
    course = Course(SUITE, Request("a", k=4), (0, 4), steps, {})
    assert set(training_command._summary([course], view, [])) == told.pop("training")
    answer = _answer(find(sweep_of(zoo(), prompts=2), Question(8)), 0)
    assert set(answer) == told.pop("sweep report")
    assert told.keys() == {"sweep status", "sweep run"}  # see test_sweep_cli
