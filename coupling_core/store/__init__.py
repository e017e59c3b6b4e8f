"""Results on a disk.

disk            the store: a folder of results, found by what was asked for
archive         the stored form of one result, in which no flipped byte goes unnoticed
result_file     one result in a file of its own
schema          the types of what a stored header says
request_key     the name of a result: a hash of what determines it
direction_file  one direction in a file that says whose it is
packs           many results in one file, to hand to somebody else
soundness       whether a result from elsewhere could have been measured
"""
