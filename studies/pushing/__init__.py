"""Does coupling make a model better? Small models that are pushed towards it and away from it.

plans       which runs there are: what is done to the loss, from which seeds, of which models
language    what language models learn, and are measured with
pictures    the same of vision transformers
training    one run, from its first step to its last
outcomes    what is measured of a model: loss, calibration, what leaving a block out costs, coupling
page        the pages of `docs` that tell the runs
at_scale    one arm on GPUs and at any size, as `accelerate launch` runs it
"""
