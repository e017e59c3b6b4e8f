"""How the mini-Pythia suites are made: `coupling suite train`.

plans        what each suite is trained with
corpus       the text, from package registries, as token ids
novels       those of its text that lie in an R package
model        the architecture, and Pythia's initialisation
batches      which windows of the text each step sees
descent      one step of the optimiser
run          what can be stopped at any moment, and gone on with
training     such a run, of language
layout       a checkpoint as a revision of a repository of the hub's cache
"""

from coupling_core.experiments.pretraining.plans import PLANS, Plan, find_plan

__all__ = ["PLANS", "Plan", "find_plan"]
