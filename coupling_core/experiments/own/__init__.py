"""Small models of one's own, trained in a minute or two: `coupling suite new`.

plans       what may be chosen
lesson      such a run, and its measurement, in a process of its own
training    such a run, from its first step to a suite that all pages know
"""
