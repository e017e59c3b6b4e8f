"""The Training page.

page            maps that a slider over checkpoints moves, and numbers by step
strip           what its figures are of
step_slider     the slider, a component of our own
step_figures    figures of one step, kept for when the slider comes back
courses         training runs as the store has them
measuring_runs  measuring what they lack
"""
