"""Slides: one figure a page, its caption and source on it, and words that keep what they say."""

import io

import pytest
from cases import VIEW, planted
from kaleido.errors import ChromeNotFoundError
from pypdf import PdfReader

from coupling_core import figures
from coupling_core.figures import slides as made
from coupling_core.figures.slides import HEIGHT, WIDTH, Slide, slides


@pytest.fixture(scope="module")
def shown():
    return planted(), VIEW


def texts(content):
    return [" ".join(page.extract_text().split()) for page in PdfReader(io.BytesIO(content)).pages]


def test_a_slide_has_its_words_and_a_figure_its_caption_and_source(shown):
    figure = figures.scores(*shown)
    pages = texts(
        slides(
            [
                Slide("One & two", "**Bold** words < others.\n\n- first\n- second"),
                Slide("A map", figure=figure, of=shown),
            ]
        )
    )
    assert len(pages) == 2
    assert pages[0] == "One & two Bold words < others. • first • second"
    caption = " ".join(figure.layout.meta["caption"].split()[:6])
    assert "A map" in pages[1]
    assert caption in pages[1]
    assert shown[0].model_name in pages[1]


def test_all_slides_are_of_one_size_and_the_figure_stays_as_it_was(shown):
    figure = figures.scores(*shown)
    before = figure.to_json()
    content = slides([Slide("Words", "Words."), Slide("A map", figure=figure, of=shown)])
    sizes = {
        (round(float(page.mediabox.width)), round(float(page.mediabox.height)))
        for page in PdfReader(io.BytesIO(content)).pages
    }
    assert sizes == {(WIDTH * 3 // 4, HEIGHT * 3 // 4)}
    assert figure.to_json() == before


def test_bold_words_go_over_the_end_of_a_line():
    told = made._lines("word " * 30 + "**" + "bold " * 30 + "end** after")
    assert told.count("<b>") == told.count("</b>") == 1
    assert "*" not in told
    assert "<br>" in told[told.index("<b>") : told.index("</b>")]


@pytest.mark.parametrize("error", [ChromeNotFoundError(), TimeoutError("90 s")])
def test_matplotlib_draws_where_no_chromium_does(shown, monkeypatch, error):
    import kaleido

    def fail(**options):
        raise error

    monkeypatch.setattr(kaleido, "Kaleido", fail)
    figure = figures.scores(*shown)
    pages = texts(slides([Slide("Words", "Some words."), Slide("A map", figure=figure, of=shown)]))
    assert "Some words." in pages[0]
    assert "A map" in pages[1]
