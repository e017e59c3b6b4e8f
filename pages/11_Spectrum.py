"""Spectrum: eigenvalues of each block's linear map, and what products over depth leave over."""

import streamlit as st

from explorer.asking.compute import answer
from explorer.frame.shell import page
from explorer.pages import spectrum

with page("Spectrum") as state:
    st.title("What does a block do to a state?", anchor=False)
    result = answer(
        state.request("spectrum"), lambda partial: spectrum.partial_spectrum(partial, state)
    )
    if result is not None:
        spectrum.show(result, state)
