"""The Compare page.

page            three maps, and one pair of blocks of both results
strip           what is compared, and the ways to take it along
"""
