"""Runs: what is stored, and what is being measured."""

import streamlit as st

from explorer.asking import jobs_list
from explorer.frame.contents import PAGE_OF_KIND
from explorer.frame.shell import page
from explorer.pages.runs import page as runs
from explorer.pages.runs import sweeps_list, upload

with page("Runs"):
    st.title("Runs", anchor=False)
    st.header("Being measured", anchor=False)
    jobs_list.show()
    sweeps_list.show()
    st.header("Stored", anchor=False)
    upload.upload()
    runs.show(PAGE_OF_KIND)
