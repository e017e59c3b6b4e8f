"""Which model, which prompt, and where they come from; without torch.

identity        who a model is: its files, and the hashes that name it
aliases         models that Python packages ship
file_hashes     hashes of a model's files, remembered
gguf_head       the head of a GGUF file: whether it is whole, how long its conversion takes
integrity       whether the bytes that are loaded are what a model's name says
identity_form   which earlier identities count no longer
hub             models of the hub: naming, asking, fetching, cleaning
catalogue       the models of the papers' Table 1, and a user's own
suites          training runs whose every step can be measured
prompts         texts and data sets, and samples of them
tokens          a prompt's tokens as texts that people can read
refusals        what is wrong with an input, and with which
resolved        a request with the model that it names, found once
"""
