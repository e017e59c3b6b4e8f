"""Whole pages opened by hostile links: whatever the address says, a page says it in plain words."""

import pytest
from hostile import TEXTS, cases
from hypothesis import given
from hypothesis import strategies as st
from screen import PAGES

from coupling_core.experiments.gallery import EXAMPLES
from explorer.frame.contents import LINKS

pytestmark = pytest.mark.full

# A browser sends UTF-8; what is none is replaced before a page sees it.
SENT = TEXTS.map(lambda text: text.encode(errors="replace").decode())
QUERIES = st.dictionaries(
    st.sampled_from(sorted(LINKS.fields)), SENT | st.sampled_from(EXAMPLES), min_size=1, max_size=4
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@cases(2)
@given(st.sampled_from(sorted(PAGES)), QUERIES)
def test_no_link_breaks_a_page(open_page, title, query) -> None:
    assert not open_page(title, **query).exception
