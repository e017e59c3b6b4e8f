"""The report of a sweep: one HTML file that needs no other, and that no name can break out of."""

import inspect
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import tiny
from plotly.offline import get_plotlyjs
from sweep_table import sweep_of, zoo

from coupling_core import InputError
from coupling_core.analysis.findings import Question, find, first_question
from coupling_core.experiments.sweeps import make, write_report
from coupling_core.experiments.sweeps.report import report

TABLE = sweep_of(zoo())
FEW = sweep_of(zoo()[:6], prompts=4)
FEW = FEW[FEW["k"] < 16]
PLAN = {
    "name": "planted",
    "title": "A planted sweep",
    "kinds": ["depth"],
    "definition": "paper",
    "role": "A",
    "total": 12,
    "origins": [{"source": "own.txt", "n": 12, "sha256": "0123456789abcdef"}],
}
HOSTILE = "<script>alert('x')</script>\"&{b}</title></style>"
IMAGE = '"><img src=https://example.org/x onerror=alert(1)>'


class Read(HTMLParser):
    """The text of each element by its tag, and every tag with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and data.strip():
            self.texts.append((self._open[-1], data))

    def of(self, tag):
        return [text for name, text in self.texts if name == tag]

    @property
    def alts(self):
        return [attrs["aria-label"] for _, attrs in self.tags if attrs.get("role") == "img"]


def read(table, plan=PLAN, question=None) -> tuple[str, Read]:
    """A report without plotly's own script, and what is in it."""
    page = report(plan, table, question or first_question(table)).decode()
    assert page.count(get_plotlyjs()) == 1
    page = page.replace(get_plotlyjs(), "")
    return page, Read(page)


@pytest.fixture(scope="module")
def planted():
    return read(TABLE)


def figures_of(page):
    """The traces of each figure, as plotly is given them."""
    decoder = json.JSONDecoder()
    starts = re.finditer(r"Plotly\.newPlot\(\s*\"[^\"]*\",\s*", page)
    return [decoder.raw_decode(page, start.end())[0] for start in starts]


def test_the_file_stands_alone(planted):
    page, found = planted
    assert page.startswith("<!doctype html>")
    assert "://" not in page
    assert {tag for tag, _ in found.tags}.isdisjoint({"link", "img", "iframe", "base", "form"})
    assert not [attrs for _, attrs in found.tags if {"src", "href", "srcset"} & set(attrs)]
    assert not re.search(r"@import|url\(|\bimport\(", page)


def test_title_headings_and_sentences(planted):
    found = planted[1]
    answer = find(TABLE, Question(4))
    assert found.of("title") == found.of("h1") == ["A planted sweep"]
    assert found.of("h2") == [
        "Coupling by model",
        "Coupling and held-out loss",
        "Coupling and size",
        "Coupling and prompts",
        "Coupling and K",
        "Where the numbers come from",
    ]
    assert found.of("p") == [
        "19 models and checkpoints (all models), 12 prompts; mean chance-corrected score at K = 4; "
        "definition paper, role A."
    ]
    told = [line for line in (*answer.shows, *answer.does_not_show) if line]
    assert found.of("li")[: len(told)] == told
    assert "Prompts: 12 of own.txt (SHA-256 0123456789ab)." in found.of("li")


def test_every_figure_is_told_in_words_and_has_its_numbers(planted):
    page, found = planted
    drawn = figures_of(page)
    assert len(found.alts) == len(drawn) == 10
    assert all(found.alts)
    assert "19 models" in found.alts[0]
    models = [name for trace in drawn[0] for name in trace.get("customdata", ())]
    assert sorted(models) == sorted(TABLE["model"].unique())


def test_tables_have_the_numbers(planted):
    found = planted[1]
    cells = set(found.of("td"))
    one = find(TABLE, Question(4)).fits[0]
    assert f"{one.slope:.4g}" in cells
    assert f"{one.p:.4g}" in cells
    assert {"Alpha-0", "coupling-explorer/mini-64@step4000"} <= set(found.of("th"))
    assert f"{TABLE['loss'].iloc[0]:.4g}" in cells
    assert sum(tag == "table" for tag, _ in found.tags) == 6
    assert len(found.of("summary")) == 5  # all but that of the models, which is not folded away


def test_no_name_prompt_or_title_becomes_a_part_of_the_page():
    hostile = FEW.replace(
        {
            "model": {"Alpha-0": HOSTILE, "Beta-0": IMAGE},
            "family": {"Alpha": HOSTILE, "Beta": IMAGE},
            "prompt": {"prompt 1": HOSTILE, "prompt 2": IMAGE},
        }
    )
    origins = [{"source": HOSTILE, "n": IMAGE, "sha256": HOSTILE}, "no record"]
    page, found = read(hostile, PLAN | {"title": HOSTILE, "origins": origins})
    tags = [tag for tag, _ in found.tags]
    assert sorted(tags) == sorted(tag for tag, _ in read(FEW)[1].tags)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert found.of("h1") == [HOSTILE]
    assert HOSTILE in found.of("th")
    assert any(HOSTILE in alt for alt in found.alts)
    assert "onerror" not in {name for _, attrs in found.tags for name in attrs}


def test_few_prompts_bear_no_claim_and_are_named():
    assert "The means are over fewer than 5 prompts" in read(FEW)[1].of("p")[1]
    origins = [{"source": "text", "n": 1, "sha256": "a"}] * 4
    _, found = read(FEW, PLAN | {"origins": origins, "final_norm": "exclude"})
    assert "final norm excluded." in found.of("p")[0]
    assert found.of("p")[-1] == (
        "Here are 4 prompts: how coupling goes with their length or their difficulty is not told "
        "of fewer than 5."
    )
    assert not any("Spearman" in alt for alt in found.alts)
    assert "Prompts: 4 in the sweep's file itself." in found.of("li")
    assert {f"prompt {n}" for n in range(4)} <= set(found.of("li"))
    one = FEW[(FEW["prompt"] != "prompt 1") & (FEW["model"] == "Beta-1")]
    some = read(pd.concat([sweep_of(zoo()[:6]).query("model != 'Beta-1'"), one]))[1]
    assert "The means of 1 of 6 models are over fewer than 5 prompts" in some.of("p")[1]
    many = read(sweep_of(zoo()[:2], prompts=21))[1]
    assert "Prompts" not in many.of("h3")
    assert not any("fewer than 5" in line for line in many.of("p"))


def test_what_is_missing_and_in_doubt_is_said():
    broken = FEW.copy()
    broken.loc[broken.index[:3], "certified"] = False
    broken.loc[broken.index[broken["k"] == 4][:2], "corrected"] = np.nan
    _, found = read(broken, PLAN | {"total": 20})
    assert found.of("p")[1:5] == [
        "3 of 48 rows rest on an SVD that failed its certificate.",
        "2 scores are undefined and are left out of the means.",
        "The means are over fewer than 5 prompts: an interval of so few is wide, and nothing is "
        "claimed of it.",
        "16 of 20 measurements are missing.",
    ]


def test_only_a_score():
    _, found = read(FEW.assign(loss=np.nan))
    assert found.of("h2")[1] == "Coupling and leaderboard score"
    assert any("leaderboard score correlate with r = " in line for line in found.of("li"))
    assert "loss" not in found.of("th")


def test_only_a_loss():
    _, found = read(FEW.assign(score=np.nan))
    assert found.of("h2")[1] == "Coupling and held-out loss"
    assert "score" not in found.of("th")


def test_neither_score_nor_loss():
    _, found = read(FEW.assign(loss=np.nan, score=np.nan))
    assert "Fewer than 3 of these models have a known held-out loss." in found.of("p")
    assert "What this shows" not in found.of("h3")
    assert found.of("h2")[2:5] == ["Coupling and size", "Coupling and prompts", "Coupling and K"]
    assert not any("loss" in alt for alt in found.alts)  # an empty figure of a correlation
    assert not any("losses" in line for line in found.of("li"))


def test_a_single_model_at_one_k_with_one_prompt():
    few = FEW[(FEW["model"] == "Beta-1") & (FEW["k"] == 8) & (FEW["prompt"] == "prompt 3")]
    page, found = read(few, {"name": "one"})
    assert found.of("title") == ["one"]
    assert found.of("h2") == [
        "Coupling by model", "Coupling and held-out loss", "Where the numbers come from"
    ]  # fmt: skip
    assert figures_of(page) == []
    assert "Prompts: not recorded." in found.of("li")


def test_it_begins_with_the_coupling_of_each_model_and_its_interval():
    page, found = read(FEW)
    means = find(FEW).means.rows.sort_values("coupling", ascending=False)
    first = page[page.index("Coupling by model") : page.index("Coupling and held-out loss")]
    assert re.findall(r"<th>([^<]+)</th>\s+<td>", first) == means["model"].to_list()
    assert "<details>" not in first
    assert {"95 % from", "corrected"} <= set(found.of("th"))
    assert "chance" not in first  # which is 0 of a corrected score
    raw, _ = read(FEW, question=Question(4, measure="coupling"))
    assert "<th>chance</th>" in raw
    assert "<th>coupling</th>" in raw
    cells = re.findall(r"<td>([^<]+)</td>", first)
    assert float(cells[0]) == pytest.approx(means["coupling"].iloc[0], abs=1e-3)
    many = [model | {"model": f"{model['model']} {i}"} for i in range(3) for model in zoo()]
    page, _ = read(sweep_of(many, prompts=3))
    assert "<h2>Coupling by model</h2>\n<details>" in page  # and folded away where they are many


def test_the_first_question_is_one_that_can_be_answered():
    assert first_question(FEW) == find(FEW).question == Question(4, against="loss")
    assert first_question(FEW.assign(loss=np.nan)) == Question(4, against="score")
    assert first_question(FEW[FEW["k"] > 4]) == Question(8, against="loss")


def test_without_depth_wise_rows_there_is_no_report():
    with pytest.raises(InputError, match="no depth-wise result"):
        report(PLAN, FEW.assign(kind="self"), first_question(FEW))


def without_ids(page):
    """A page without the random names that plotly gives its figures."""
    return re.sub(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", b"", page)


def test_a_report_is_written_from_python(tmp_path):
    said = {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    plan = make(said | {"models": [{"model": str(tiny.folder(tmp_path / "model"))}]})
    path = write_report(tmp_path / "r.html", plan, FEW)
    expected = report(plan.described, FEW, first_question(FEW, plan.sweep.k))
    assert without_ids(path.read_bytes()) == without_ids(expected)
    other = write_report(str(tmp_path / "o.html"), plan, FEW, Question(8))
    expected = report(plan.described, FEW, Question(8))
    assert without_ids(other.read_bytes()) == without_ids(expected)
    with pytest.raises(InputError, match=r"table, damaged = sweeps\.make_table\(plan\)"):
        inspect.unwrap(write_report)(tmp_path / "r.html", plan, (FEW, {}))
    with pytest.raises(InputError, match=r"a report is written as \.html, and 'r\.csv' came"):
        write_report(tmp_path / "r.csv", plan, FEW)
    with pytest.raises(InputError, match="a dict came where a plan is needed"):
        inspect.unwrap(write_report)(tmp_path / "r.html", said, FEW)
