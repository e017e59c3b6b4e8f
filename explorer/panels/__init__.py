"""What several pages are made of.

kept            what is made of stored results, made once
chart           one figure, drawn, described and taken home
square          how high a map is
origin          whose numbers a figure has, on its picture and in its files
first_paint     what waits until the first figures are painted
whole           all that a page draws, for one file
off_screen      a page drawn where nobody looks, for such files
hand            what takes clicks and taps on a figure
narrowed        which blocks are shown, and the way back to all
drawer          what opens for one pair of blocks
to_lesson       a button that makes a task of what is shown
way             a button to another page, with what is chosen there
strip           the line above the figures
switches        the controls above the figures
prompt_picker   which prompt is measured
list_picker     which list of prompts is, above the figures
over_list       what the pages about a list of prompts share
uploader        the control that asks for a file
page            a page, as its frame and the other pages know it
recipes         the same outside the app, as text to copy
pruning         which blocks to leave out, and what that costs
sweep_tables    the sweeps that have a table
sweep_words     what the pages about sweeps say alike
"""
