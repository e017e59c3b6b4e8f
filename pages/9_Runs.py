"""Runs: what is stored, and what is being measured."""

import streamlit as st

from explorer import jobs_list, runs, sweeps_list, upload
from explorer.shell import page

with page("Runs"):
    st.title("Runs", anchor=False)
    st.header("Being measured", anchor=False)
    jobs_list.show()
    sweeps_list.show()
    st.header("Stored", anchor=False)
    upload.upload()
    runs.show()
