"""The kinds of results: all that is special to one, a folder a kind, or a group that shares it.

depth         the blocks at one token
tokens        the tokens, in two blocks or on average over all pairs
trajectory    the path of every token through the blocks
"""
