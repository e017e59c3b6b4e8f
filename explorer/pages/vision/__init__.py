"""The Vision page.

page            one picture over the rates, below the experiment
experiment      coupling and accuracy of all runs
state           what is chosen on it, and how its figures are read
"""
