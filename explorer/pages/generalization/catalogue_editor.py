"""The catalogue of models as a table: read, taken home, and on one's own machine changed."""

import pandas as pd
import streamlit as st

from coupling_core.base.errors import CouplingError
from coupling_core.sources.catalogue import COLUMNS, catalogue, cells, keep_own, parse_models
from explorer.server.admission import is_demo
from explorer.session.plain_text import plain, sentence
from explorer.session.session import change

_KEY = "catalogue@generalization"
_TOLD = "_catalogue_told"


def show() -> None:
    """Draw the table; changes go to the user's own file, and count when a sweep's table is made."""
    st.caption(
        "Parameters, depth, width, training tokens and leaderboard scores, each with its source. A "
        "sweep takes them from here for its table: they are joined by the model's id."
    )
    fold = st.expander("The catalogue of models", key=f"{_KEY}@fold", on_change=change)
    if fold.open:
        with fold:
            _table()


def _table() -> None:
    rows = pd.DataFrame(cells(catalogue()), columns=list(COLUMNS))
    if is_demo():
        st.dataframe(rows, hide_index=True, alt="Table of the models in the catalogue")
    else:
        edited = st.data_editor(rows, hide_index=True, num_rows="dynamic", key=_KEY)
        if st.button("Keep these changes", disabled=edited.equals(rows)):
            _keep(edited)
        if told := st.session_state.pop(_TOLD, ""):
            st.success(told)
    st.download_button(
        "CSV",
        lambda: rows.to_csv(index=False).encode(),
        "models.csv",
        "text/csv",
        key=f"{_KEY}@csv",
        on_click="ignore",
    )


def _keep(edited: pd.DataFrame) -> None:
    """Keep what was changed, where all of it can be read."""
    texts = edited.fillna("").astype(str).to_dict("records")
    try:
        path = keep_own(parse_models(enumerate(texts, 1), "the table"))
    except CouplingError as error:
        st.error(sentence(error))
        return
    del st.session_state[_KEY]
    st.session_state[_TOLD] = f"Kept in {plain(str(path))}."
    st.rerun()
