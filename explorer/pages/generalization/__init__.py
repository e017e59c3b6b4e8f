"""The Generalization page.

page                coupling against performance over many models
strip               what its figures are of, and the ways to take them along
state               what is chosen on it, and what is asked of a sweep for it
catalogue_editor    the catalogue of models as a table
"""
