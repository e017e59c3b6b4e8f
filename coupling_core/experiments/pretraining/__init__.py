"""How a small language model is trained from its first step: as Pythia was, in minutes.

plan         what it is trained with
corpus       a text as token ids
model        the architecture, and Pythia's initialisation
batches      which windows of the text each step sees
descent      one step of the optimiser
run          what can be stopped at any moment, and gone on with; its checkpoints
training     such a run, of language
"""
