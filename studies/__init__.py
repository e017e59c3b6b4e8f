"""Experiments that were run once, to answer a question: each is `python -m studies.NAME`.

They take what they need of `coupling_core`, which knows nothing of them. What is read of their
results is there too: `experiments.pushing`, `experiments.vision`, `experiments.effects`.

pretraining     the mini-Pythia suites, and the text that they learn
emergence       what they show of the papers' claims
vision          the vision transformers by their rate of stochastic depth
pushing         what becomes of models that are pushed towards coupling, and away from it
effects         how coupling and the effect of edits go together over many prompts
command         how each of them is run
"""
