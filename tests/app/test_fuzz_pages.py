"""Whole pages opened by hostile links: whatever the address says, a page says it in plain words."""

import pytest
from hostile import TEXTS, cases
from hypothesis import given
from hypothesis import strategies as st
from screen import PAGES, Open
from sweep_table import plant, sweep_of, zoo

from coupling_core.base.records import MEASURES, MODEL_SUBSETS, PERFORMANCES
from coupling_core.experiments.gallery import EXAMPLES
from coupling_core.store.disk import Store
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
def test_no_link_breaks_a_page(open_page: Open, title: str, query: dict[str, str]) -> None:
    assert not open_page(title, **query).exception


TABLE = sweep_of(zoo()[:5], prompts=3)
OF_SWEEPS = ("sweep", "gk", "measure", "against", "subset", "method", "size", "number", "of")
CHOICES = st.sampled_from((*MEASURES, *MODEL_SUBSETS, *PERFORMANCES, "planted", "8", "0.1"))


@cases(1)
@given(st.dictionaries(st.sampled_from(OF_SWEEPS), SENT | CHOICES, min_size=2), SENT)
def test_no_link_and_no_name_breaks_the_page_of_a_sweep(
    open_page: Open, query: dict[str, str], name: str
) -> None:
    plant(
        Store(), TABLE.replace({"model": {"Alpha-0": name}, "family": {"Beta": name}}), title=name
    )
    assert not open_page(
        "Generalization", **query, **{} if "of" in query else {"of": name}
    ).exception
