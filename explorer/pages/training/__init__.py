"""The Training page.

state           what is chosen on it, and what has to be measured
page            maps that a slider over checkpoints moves, and numbers by step
overlay         a second run in the curves
strip           what its figures are of
step_slider     the slider, a component of our own
step_figures    figures of one step, kept for when the slider comes back
suite_picker    which training runs are looked at
courses         training runs as the store has them
measuring_runs  measuring what they lack
"""
