"""Figures as PDF, SVG and PNG without a browser: matplotlib draws plotly's own traces.

    page       the whole picture, in pixels: margins, the order of its parts, the file
    parts      what a figure may have; all else is refused in words, rather than drawn wrong
    axes       ranges, scales, ticks, and where a square map lies
    traces     lines, points, texts, grounds, error bars, heatmaps, pictures
    shapes     lines, rectangles and paths over or under them
    bars       colour bars                  legends    which line is which
    texts      plotly's markup, line by line
    colors     plotly's colours and colour scales

Chromium draws them where there is one (see `coupling_core.figures.export`).
"""

from coupling_core.figures.drawing.page import draw

__all__ = ["draw"]
