"""Does coupling make a model better? Small models that are pushed towards it and away from it.

plans       which runs there are: what is done to the loss, from which seeds, of which models
tasks       what it takes to train and to measure models of a kind
language    the same for language models
pictures    the same for vision transformers
training    one run, from its first step to its last
outcomes    what is measured of a model: loss, calibration, what leaving a block out costs, coupling
runs        the files that they are kept in
running     all runs that are still missing
at_scale    the same on GPUs and at any size, as `accelerate launch` runs it
findings    paired differences between the runs, and the pages of `docs` that tell them
"""
