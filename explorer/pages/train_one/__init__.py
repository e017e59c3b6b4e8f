"""The Train one page.

state       what is chosen of a model
page        the controls, and one or two models as they learn
learned     what is drawn of a model, while it trains and afterwards
"""
