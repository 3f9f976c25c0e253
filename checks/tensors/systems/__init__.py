"""The papers' attentions as torch modules and functions, and their checks against formulas and torch's
layers.

May import ``core`` and the theories' folders beside it.
"""
