"""Which blocks to leave out of a model, and what that costs.

rankings    which blocks go first, by numbers of single blocks, of ranges, or at random
prices      held-out loss against blocks removed, with intervals over texts
study       what was measured, as a file of its own
words       what that shows, and what it does not
"""
