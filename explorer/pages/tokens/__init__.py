"""The Tokens page.

page            the grid over tokens, and the selected pair below
state           what is chosen on it, and the same outside the app
"""
