"""Figures and words as one HTML file that stands alone: it fetches nothing."""

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from coupling_core.base.extras import needed
from coupling_core.base.records import AnyView
from coupling_core.base.results import Result
from coupling_core.figures.export import on_paper

if TYPE_CHECKING:
    from pandas import DataFrame


def document(title: str, parts: Iterable[str]) -> bytes:
    """The file's content: a title, and what the other functions here return, in order."""
    from plotly.offline import get_plotlyjs

    body = "\n".join(parts)
    return _PAGE.format(title=html.escape(title), plotly=get_plotlyjs(), body=body).encode()


def heading(text: str) -> str:
    """Of a section."""
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    """Of plain text."""
    return f"<p>{html.escape(text)}</p>"


def prose(text: str) -> str:
    """Text in Markdown; HTML in it is shown as it stands."""
    with needed("app"):
        from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).render(text))


def folded(title: str, parts: Iterable[str]) -> str:
    """Parts that a click on their title opens, and printing too."""
    return f"<details><summary>{html.escape(title)}</summary>{''.join(parts)}</details>"


def ruled(lines: int) -> str:
    """Lines to write on by hand."""
    return '<div class="ruled">' + "<div></div>" * lines + "</div>"


def together(parts: Iterable[str]) -> str:
    """Parts that stay on one sheet of paper, if they fit."""
    return f"<section>{''.join(parts)}</section>"


def bullets(title: str, items: Sequence[str]) -> str:
    """A list under its title; "" if it has no items."""
    lines = "".join(f"<li>{html.escape(item)}</li>" for item in items if item)
    return f"<h3>{html.escape(title)}</h3><ul>{lines}</ul>" if lines else ""


def folded_table(frame: "DataFrame", most: int = 0) -> str:
    """A table, folded away if it has more rows than `most`."""
    body = frame.to_html(border=0, float_format="{:.4g}".format, na_rep="")
    return folded("Table", [body]) if len(frame) > most else body


def drawing(figure: go.Figure, result: Result | None = None, view: AnyView | None = None) -> str:
    """A figure with its caption and its source, as `on_paper` has it."""
    alt = html.escape(figure.layout.meta["alt"], quote=True)
    body = on_paper(figure, result, view).to_html(full_html=False, include_plotlyjs=False)
    return f'<div role="img" aria-label="{alt}">{body}</div>'


_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ max-width: 800px; margin: 2em auto; padding: 0 1em; background: white; color: #24292f;
  font: 16px/1.5 'Source Sans Pro', 'Helvetica Neue', Helvetica, Arial, sans-serif }}
details {{ overflow-x: auto; margin: 0.5em 0 }}
table {{ border-collapse: collapse; font-size: 13px }}
td, th {{ padding: 2px 10px 2px 0; text-align: right; white-space: nowrap }}
[role=img] {{ overflow-x: auto; break-inside: avoid }}
section {{ break-inside: avoid }}
p {{ white-space: pre-line }}
h2, h3 {{ break-after: avoid }}
.ruled div {{ height: 2.2em; border-bottom: 1px solid #8c959f }}
@media print {{ body {{ margin: 0; max-width: none }} .modebar {{ display: none }} }}
</style>
<script>{plotly}</script>
<script>addEventListener("beforeprint", () => {{
  for (const one of document.querySelectorAll("details")) one.open = true;
}});</script></head>
<body><h1>{title}</h1>
{body}
</body>
</html>
"""
