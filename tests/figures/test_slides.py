"""Slides: one figure a page, its caption and source on it, and words that keep what they say."""

import io

import pytest
from cases import VIEW, planted
from pypdf import PdfReader

from coupling_core import figures
from coupling_core.figures.slides import HEIGHT, WIDTH, Slide, slides

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def shown():
    return planted(), VIEW


def texts(content):
    return [" ".join(page.extract_text().split()) for page in PdfReader(io.BytesIO(content)).pages]


def test_a_slide_has_its_words_and_a_figure_its_caption_and_source(shown):
    figure = figures.scores(*shown)
    before = figure.to_json()
    content = slides(
        [
            Slide("One & two", "**Bold** words < others.\n\n- first\n- second"),
            Slide("A map", figure=figure, of=shown),
        ]
    )
    first, second = texts(content)
    assert first == "One & two Bold words < others. • first • second"
    caption = " ".join(figure.layout.meta["caption"].split()[:6])
    for words in ("A map", caption, shown[0].model_name):
        assert words in second
    sizes = {
        (round(float(page.mediabox.width)), round(float(page.mediabox.height)))
        for page in PdfReader(io.BytesIO(content)).pages
    }
    assert sizes == {(WIDTH * 3 // 4, HEIGHT * 3 // 4)}
    assert figure.to_json() == before
