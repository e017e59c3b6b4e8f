"""The Generalization page.

page                coupling against performance over many models
catalogue_editor    the catalogue of models as a table
"""
