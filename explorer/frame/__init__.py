"""What is round every page.

shell       its first call, and what catches whatever goes wrong in it
sidebar     the controls that all pages share
"""
