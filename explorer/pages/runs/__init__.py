"""The Runs page.

page            the list of stored results
rechecks        whether a result can still be believed
upload          adding results from a file
sweeps_list     how far each sweep is
"""
