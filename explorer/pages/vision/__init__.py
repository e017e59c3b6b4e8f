"""The Vision page.

page            one picture over the rates, below the experiment
experiment      coupling and accuracy of all runs; what is chosen on the page
"""
