"""Many measurements, the training of models to be measured, and results of experiments.

Those that were run once to answer a question are made by `studies/` of the checkout.

sweeps          many models with many prompts, on one machine or many
many            many prompts with several models, from Python
many_answers    where its results come from
many_on_dask    the same on a dask client that is handed over
many_asked      the forms in which prompts and models are given to it
steps           one prompt over the steps of a training run, from Python
watching        coupling while a model trains: a callback for trainers and loops
pretraining     how a small language model is trained from its first step
own             small models of one's own, trained in a minute or two
pushing         what became of models that were pushed towards coupling, and away from it
vision          the vision transformers that ship, and what was found
effects         how coupling and the effect of edits go together over many prompts, as it ships
pruning         which blocks of a model to leave out, and models without them
gallery         the results that ship with the code
"""
