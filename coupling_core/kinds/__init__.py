"""The kinds of results: all that is special to one, a folder a kind, or a group that shares it.

    compose    what measures it
    cost       what that takes, of time and of memory
    numbers    a record for each of its numbers, and what several are taken from
    views      a record for each of its figures, its scores and sentence
    command    its command, and what that says of it

`directions` also has `trials`: what is tried with a model, and not stored.

Those are the parts of each folder, and its `KINDS` are the records by which other rooms know it.

depth         the blocks at one token
tokens        the tokens, in two blocks or on average over all pairs
trajectory    the path of every token through the blocks
whatif        what edits of the model's depth do to what it says
perturbation  noise on a token's embedding, and how far linear blocks predict it
spectrum      eigenvalues of each block's map, and what products of them leave over
directions    what the leading singular vectors of the blocks read, write and do
one_token     what the kinds of one token measure alike
plain         the command of kinds that have none of their own
"""
