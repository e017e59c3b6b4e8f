"""The page Tour: the finding in nine stops, from stored results alone.

state    which stop, and what was guessed
page     a stop: its question, its figure, its answer
stops    all of them, with their words
top.js   brings its top into sight
handout  all of it as files to take home
shown    what they draw, and the numbers that they tell
"""
