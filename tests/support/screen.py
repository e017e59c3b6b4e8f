"""What a page of the app shows, read back from what it would send to the browser."""

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from explorer.frame import contents

PAGES = {title: page.file for title, page in contents.PAGES.items()}
Open = Callable[..., AppTest]


def charts(app: AppTest) -> dict[str, dict[str, Any]]:
    """The figures by their key."""
    found = app.get("plotly_chart")  # an id ends in the key
    return {chart.proto.id.split("-", 2)[2]: json.loads(chart.proto.spec) for chart in found}


def heat(figure: dict[str, Any]) -> np.ndarray:
    """The numbers of a figure's first trace, a map."""
    return unpacked(figure["data"][0]["z"])


def unpacked(sent: dict[str, str]) -> np.ndarray:
    """Numbers of a figure, which travel as binary; of several axes with their shape."""
    numbers = np.frombuffer(base64.b64decode(sent["bdata"]), np.dtype(sent["dtype"]))
    return numbers.reshape([int(side) for side in sent.get("shape", "-1").split(",")])


def coloured(scores: np.ndarray) -> np.ndarray:
    """What a map of these scores draws in colours: not a block with itself."""
    return np.where(np.eye(len(scores), dtype=bool), np.nan, scores)


def sent(app: AppTest) -> str:
    """All that the browser is sent, tables and links too."""
    protos = (str(node.proto) for node in app._tree if hasattr(node, "proto"))
    return "\n".join(protos).replace("\\'", "'")


def chips(app: AppTest) -> str:
    """The prompt's tokens, as HTML."""
    (found,) = [part.proto.body for part in app.get("html") if 'class="tokens"' in part.proto.body]
    return found


def words(app: AppTest) -> str:
    """All captions, texts and headings."""
    kinds = (app.title, app.header, app.subheader, app.caption, app.markdown)
    return "\n".join(element.value for kind in kinds for element in kind)
