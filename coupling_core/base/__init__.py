"""What every other room stands on: no torch, no model, no figure.

errors          what can go wrong, in three kinds
definitions     every score: its name, formula, function and chance floor
choosing        the message for a name that is not in a closed list
callers         warnings that point at the line of the call
kinds           which kinds of results there are, and what is known of each
blocks          block numbers in the forms in which people name them
edits           edits of a model's depth, and removals: which blocks run where
records         what is asked for and how it is looked at, frozen
token_ids       token ids in whatever form they are handed over
results         what is stored of a measurement, one class a file
trials          what is tried with directions, and what comes of it
numbers         a record for each number of a kind, from which all that shows it is derived
curves          what a figure of curves says: numbers, axes, caption
drawing         the figures of a kind by name, and what shows or saves one
notebook        what a notebook shows: a line, a verdict, a figure, a table or its arrays
jacobian        one block's Jacobian, with its singular triplets
images          a picture as a prompt
settings        what whoever runs the app may decide
extras          packages that may be missing, and the command that brings them
installed       the version, needs and entry points of this package
folders         where things are kept on a disk
reading         files read by one door: regular ones, and a bound of bytes
writing         files written whole or not at all
textfiles       text files that people write, read with complaints that name the line
logs            log lines for a machine to read
memory          main memory: how much is free, and that it ran out
allocator       what is kept of memory that was freed
cores           how many cores of the processor may be used
units           numbers with their units
figure_names    names of figures for type checkers, written by `make docs`
wording         text as rows of (condition, sentence)
bars            how far something is, where somebody watches, and how long the rest takes
"""
