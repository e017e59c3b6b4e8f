"""Slides: one figure a page, its caption and source on it, and words that keep what they say."""

import io

import pytest
from cases import VIEW, planted
from pypdf import PdfReader

from coupling_core import figures
from coupling_core.figures.slides import HEIGHT, WIDTH, Slide, slides


@pytest.mark.full
def test_a_slide_has_its_words_and_a_figure_its_caption_and_source():
    shown = planted(), VIEW
    figure = figures.scores(*shown)
    words = Slide("One & two", "**Bold** words < others.\n\n- first\n- second")
    pages = PdfReader(io.BytesIO(slides([words, Slide("A map", figure=figure, of=shown)]))).pages
    first, second = (" ".join(page.extract_text().split()) for page in pages)
    assert first == "One & two Bold words < others. • first • second"
    caption = " ".join(figure.layout.meta["caption"].split()[:6])
    for words in ("A map", caption, shown[0].model_name):
        assert words in second
    for page in pages:
        size = (float(page.mediabox.width), float(page.mediabox.height))
        assert size == pytest.approx((WIDTH * 3 / 4, HEIGHT * 3 / 4), abs=1)
