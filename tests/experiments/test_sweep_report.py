"""The report of a sweep: one HTML file that needs no other, and that no name can break out of."""

import json
import re
from html.parser import HTMLParser

import numpy as np
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
    "name": "planted", "title": "A planted sweep", "kinds": ["depth"], "definition": "paper",
    "role": "A", "total": 12,
    "origins": [{"source": "own.txt", "n": 12, "sha256": "0123456789abcdef"}],
}  # fmt: skip
HOSTILE = "<script>alert('x')</script>\"&{b}</title></style>"
IMAGE = '"><img src=https://example.org/x onerror=alert(1)>'


class Read(HTMLParser):
    """The text of each element by its tag, and every tag with its attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self._open = [], [], []
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
def pages():
    return {"everything": read(TABLE), "few prompts": read(FEW)}


def figures_of(page):
    """The traces of each figure, as plotly is given them."""
    starts = re.finditer(r"Plotly\.newPlot\(\s*\"[^\"]*\",\s*", page)
    return [json.JSONDecoder().raw_decode(page, start.end())[0] for start in starts]


def test_the_file_stands_alone(pages):
    page, found = pages["everything"]
    assert page.startswith("<!doctype html>")
    assert "://" not in page
    assert {tag for tag, _ in found.tags}.isdisjoint({"link", "img", "iframe", "base", "form"})
    assert not [attrs for _, attrs in found.tags if {"src", "href", "srcset"} & set(attrs)]
    assert not re.search(r"@import|url\(|\bimport\(", page)


def test_it_says_what_the_findings_say_and_has_their_numbers(pages):
    page, found = pages["everything"]
    answer = find(TABLE, Question(4))
    assert found.of("title") == found.of("h1") == ["A planted sweep"]
    told = [line for line in (*answer.shows, *answer.does_not_show) if line]
    assert found.of("li")[: len(told)] == told
    assert "Prompts: 12 of own.txt (SHA-256 0123456789ab)." in found.of("li")
    drawn = figures_of(page)
    assert len(found.alts) == len(drawn) == 10
    assert all(found.alts)
    models = [name for trace in drawn[0] for name in trace.get("customdata", ())]
    assert sorted(models) == sorted(TABLE["model"].unique())
    one = answer.fits[0]
    numbers = {f"{one.slope:.4g}", f"{one.p:.4g}", f"{TABLE['loss'].iloc[0]:.4g}"}
    assert numbers <= set(found.of("td"))
    assert {"Alpha-0", "coupling-explorer/mini-64@step4000"} <= set(found.of("th"))


def test_what_is_not_known_is_not_reported_on(snapshot, pages):
    worlds = {
        "no loss": FEW.assign(loss=np.nan), "no score": FEW.assign(score=np.nan),
        "neither": FEW.assign(loss=np.nan, score=np.nan),
    }  # fmt: skip
    every = pages | {name: read(table) for name, table in worlds.items()}
    found = {name: page for name, (_, page) in every.items()}
    assert {name: page.of("h2") for name, page in found.items()} == snapshot
    for name in ("loss", "score"):
        assert name not in found[f"no {name}"].of("th")
    assert not any("loss" in alt for alt in found["neither"].alts)  # of a correlation
    assert not any("Spearman" in alt for alt in found["few prompts"].alts)
    assert {f"prompt {n}" for n in range(4)} <= set(found["few prompts"].of("li"))


def test_missing_certificates_scores_and_measurements_are_told():
    broken = FEW.copy()
    broken.loc[broken.index[:3], "certified"] = False
    broken.loc[broken.index[broken["k"] == 4][:2], "corrected"] = np.nan
    told = " ".join(read(broken, PLAN | {"total": 20})[1].of("p"))
    counts = ("3 of 48 rows", "2 scores", "16 of 20 measurements")
    assert [count for count in counts if count not in told] == []


def test_no_name_prompt_or_title_becomes_a_part_of_the_page(pages):
    names = {
        "model": ("Alpha-0", "Beta-0"), "family": ("Alpha", "Beta"),
        "prompt": ("prompt 1", "prompt 2"),
    }  # fmt: skip
    hostile = FEW.replace({of: {a: HOSTILE, b: IMAGE} for of, (a, b) in names.items()})
    origins = [{"source": HOSTILE, "n": IMAGE, "sha256": HOSTILE}, "no record"]
    page, found = read(hostile, PLAN | {"title": HOSTILE, "origins": origins})
    tags = [tag for tag, _ in found.tags]
    assert sorted(tags) == sorted(tag for tag, _ in pages["few prompts"][1].tags)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert found.of("h1") == [HOSTILE]
    assert HOSTILE in found.of("th")
    assert any(HOSTILE in alt for alt in found.alts)
    assert "onerror" not in {name for _, attrs in found.tags for name in attrs}


def test_it_begins_with_the_coupling_of_each_model_and_its_interval(pages):
    page = pages["few prompts"][0]
    means = find(FEW).means.rows.sort_values("coupling", ascending=False)
    first = page[page.index("Coupling by model") : page.index("Coupling and held-out loss")]
    assert re.findall(r"<th>([^<]+)</th>\s+<td>", first) == means["model"].to_list()
    cells = re.findall(r"<td>([^<]+)</td>", first)
    assert float(cells[0]) == pytest.approx(means["coupling"].iloc[0], abs=1e-3)
    assert "chance" not in first  # which is 0 of a corrected score
    raw = set(read(FEW, question=Question(4, measure="coupling"))[1].of("th"))
    assert {"chance", "coupling"} <= raw


def test_the_first_question_is_one_that_can_be_answered():
    assert first_question(FEW) == find(FEW).question == Question(4, against="loss")
    assert first_question(FEW.assign(loss=np.nan)) == Question(4, against="score")
    assert first_question(FEW[FEW["k"] > 4]) == Question(8, against="loss")


def test_a_report_is_written_from_python(tmp_path):
    said = {"name": "n", "k": 4, "prompts": [{"text": "The cat"}]}
    plan = make(said | {"models": [{"model": str(tiny.folder(tmp_path / "model"))}]})
    ids = rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # plotly's, which are random
    for said, asked in (((), first_question(FEW, plan.sweep.k)), ((Question(8),), Question(8))):
        written = write_report(tmp_path / "r.html", plan, FEW, *said).read_bytes()
        expected = report(plan.described, FEW, asked)
        assert re.sub(ids, b"", written) == re.sub(ids, b"", expected)
