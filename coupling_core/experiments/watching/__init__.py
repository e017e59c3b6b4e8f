"""Coupling watched while a model trains.

callback    what a trainer or a loop of one's own calls
probes      a fixed set of prompts, measured with a model that is in the middle of its training
budget      how much of the time that may take
run         where the results are kept: a training run as the page Training shows it
reports     TensorBoard, Weights & Biases, trackio

`callback` alone imports transformers' trainer, and with it all that this brings.
"""
