"""What is round every page.

shell       its first call, and what catches whatever goes wrong in it
contents    which pages there are
sidebar     the controls that all pages share
"""
