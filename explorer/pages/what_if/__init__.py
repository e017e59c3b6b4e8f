"""The What if page.

page     state, maps of coupling and of effects, curves block by block
pair     the chosen pair: its numbers, and what the model says before and after
study    coupling against effect over many prompts, and as training goes on
"""
