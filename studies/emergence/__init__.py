"""What the mini-Pythia suites show of the papers' claims.

windows     coupling over many held-out windows, at every step of a suite
page        the page of `docs` that tells it
"""
