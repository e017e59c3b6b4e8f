"""The report of a sweep: one HTML file that needs no other, and that no name can break out of."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import tiny
from plotly.offline import get_plotlyjs
from sweep_table import sweep_of, zoo

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


def test_it_says_what_the_findings_say(planted):
    found = planted[1]
    answer = find(TABLE, Question(4))
    assert found.of("title") == found.of("h1") == ["A planted sweep"]
    told = [line for line in (*answer.shows, *answer.does_not_show) if line]
    assert found.of("li")[: len(told)] == told
    assert "Prompts: 12 of own.txt (SHA-256 0123456789ab)." in found.of("li")


def worlds():
    """Tables that lack something a report is about, and what was planned of them."""
    broken = FEW.copy()
    broken.loc[broken.index[:3], "certified"] = False
    broken.loc[broken.index[broken["k"] == 4][:2], "corrected"] = np.nan
    at_one = FEW[(FEW["model"] == "Beta-1") & (FEW["k"] == 8) & (FEW["prompt"] == "prompt 3")]
    one = FEW[(FEW["prompt"] != "prompt 1") & (FEW["model"] == "Beta-1")]
    excluded = PLAN | {"final_norm": "exclude"}
    return {
        "nothing": (TABLE, PLAN),
        "few prompts": (FEW, excluded),
        "few prompts of one model": (pd.concat([sweep_of(zoo()[:4]), one]), PLAN),
        "certificates, scores and measurements": (broken, PLAN | {"total": 20}),
        "no loss": (FEW.assign(loss=np.nan), PLAN),
        "no score": (FEW.assign(score=np.nan), PLAN),
        "neither": (FEW.assign(loss=np.nan, score=np.nan), PLAN),
        "all but one measurement": (at_one, {"name": "one"}),
    }


def test_headings_and_paragraphs_say_what_is_missing(snapshot):
    found = {}
    for name, (table, plan) in worlds().items():
        page = read(table, plan)[1]
        assert [of for of in page.alts if not of] == []
        found[name] = {tag: page.of(tag) for tag in ("title", "h2", "p")}
        found[name]["figures"] = len(page.alts)
    assert found == snapshot


def test_what_is_not_known_is_not_reported_on():
    assert "loss" not in read(FEW.assign(loss=np.nan))[1].of("th")
    assert "score" not in read(FEW.assign(score=np.nan))[1].of("th")
    neither = read(FEW.assign(loss=np.nan, score=np.nan))[1]
    assert not any("loss" in alt for alt in neither.alts)  # an empty figure of a correlation
    assert not any("losses" in line for line in neither.of("li"))
    few = read(FEW)[1]
    assert not any("Spearman" in alt for alt in few.alts)
    assert {f"prompt {n}" for n in range(4)} <= set(few.of("li"))
    assert "Prompts" not in read(sweep_of(zoo()[:2], prompts=21))[1].of("h3")


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
    assert {f"{one.slope:.4g}", f"{one.p:.4g}", f"{TABLE['loss'].iloc[0]:.4g}"} <= cells
    assert {"Alpha-0", "coupling-explorer/mini-64@step4000"} <= set(found.of("th"))
    assert sum(tag == "table" for tag, _ in found.tags) == 6


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


def test_it_begins_with_the_coupling_of_each_model_and_its_interval():
    page = read(FEW)[0]
    means = find(FEW).means.rows.sort_values("coupling", ascending=False)
    first = page[page.index("Coupling by model") : page.index("Coupling and held-out loss")]
    assert re.findall(r"<th>([^<]+)</th>\s+<td>", first) == means["model"].to_list()
    cells = re.findall(r"<td>([^<]+)</td>", first)
    assert float(cells[0]) == pytest.approx(means["coupling"].iloc[0], abs=1e-3)
    assert "<details>" not in first
    assert "chance" not in first  # which is 0 of a corrected score
    raw = set(read(FEW, question=Question(4, measure="coupling"))[1].of("th"))
    assert {"chance", "coupling"} <= raw
    many = [model | {"model": f"{model['model']} {i}"} for i in range(3) for model in zoo()]
    folded = read(sweep_of(many, prompts=3))[0]
    assert "<h2>Coupling by model</h2>\n<details>" in folded


def test_the_first_question_is_one_that_can_be_answered():
    assert first_question(FEW) == find(FEW).question == Question(4, against="loss")
    assert first_question(FEW.assign(loss=np.nan)) == Question(4, against="score")
    assert first_question(FEW[FEW["k"] > 4]) == Question(8, against="loss")


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
