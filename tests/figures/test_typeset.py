"""Indices are set as such: in TeX on pages, as plotly writes them in files."""

import pytest

from coupling_core.figures.typeset import in_html, in_tex


@pytest.mark.parametrize(
    ("text", "tex", "html"),
    [
        ("from x^0 to x^30", "FROM $x^{0}$ TO $x^{30}$", "from x<sup>0</sup> to x<sup>30</sup>"),
        ("s_K / s_(K+1) is", "$s_{K}$ / $s_{K+1}$ IS", "s<sub>K</sub> / s<sub>K+1</sub> is"),
        ("J^l x^(l-1)", "$J^{l}$ $x^{l-1}$", "J<sup>l</sup> x<sup>l-1</sup>"),
        ("max_length and x^many", "MAX_LENGTH AND X^MANY", "max_length and x^many"),
    ],
)
def test_what_has_an_index_is_set(text, tex, html):
    assert in_tex(text, str.upper) == tex
    assert in_html(text) == html
