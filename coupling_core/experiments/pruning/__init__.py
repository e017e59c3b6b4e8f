"""Which blocks of a model to leave out: ranked, judged on other texts, and saved without them.

door        prune(...), as people call it
plan        what it returns, drawn and saved
readings    texts as the model reads them, kept as far as memory allows
ranking     which blocks go, by each ranking
estimate    how long it takes, before it begins
saving      a shorter model as a folder, checked before it is there
card        what such a folder says of itself
"""
