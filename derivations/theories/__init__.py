"""The theories whose assumptions can be changed: support vector regression, kernel SVD, functional descent,
energies.

May import ``derivations.calculus``. `theory` has what they share: knobs, and where their values come from.
"""
