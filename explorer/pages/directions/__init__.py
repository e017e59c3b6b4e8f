"""The page Directions: what the leading singular vectors of the blocks read, write and do.

page        which say more than chance, one block's in a list, one over depth
effect      one direction added to the state: what the model then says
common      what several blocks have in common, read out and taken away
"""
